//! Real agents of other vendors. `tests/third_party/acp` installs them and runs these tests.
