#!/bin/sh
# Prints the next action for the lead of the crash test.
# Prints the id of the task whose subject begins with T$1.
id() {
    file=$(grep -l "\"subject\": \"T$1 " .tasks/task_*.json)
    file=${file##*task_}
    echo "${file%.json}"
}
# Plans first: only the lead decides them.
for plan in $(grep -l '"kind": "plan"' .team/requests/*.json); do
    grep -q '"status": "pending"' "$plan" && { plan=${plan##*/}; echo "NEXT decide ${plan%.json}"; exit; }
done
for n in 1 2 3 4 5 6; do
    [ -n "$(id $n)" ] || { echo "NEXT create T$n after $(id 1) $(id 2) $(id 3)"; exit; }
done
for who in alice bob carol; do
    grep -q "\"name\": \"$who\"" .team/config.json || { echo "NEXT spawn $who"; exit; }
done
for task in .tasks/task_*.json; do
    grep -q '"status": "completed"' "$task" || { echo "NEXT rest: work is open"; exit; }
done
for branch in $(git for-each-ref --format='%(refname:short)' refs/heads/wt); do
    git merge-base --is-ancestor "$branch" HEAD || { echo "NEXT merge ${branch#wt/task-}"; exit; }
done
grep -q '"kind": "shutdown"' .team/requests/*.json || { echo "NEXT shutdown carol"; exit; }
echo "NEXT rest: all is done"
