#!/bin/sh
# What the lead of the crash test finds when it looks around: the one thing that is to be done next.
for n in 1 2 3 4 5 6; do
    grep -q "\"subject\": \"T$n " .tasks/task_*.json || { echo "NEXT create T$n"; exit; }
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
