/** True in the long form of the tests (`scripts/test --long`, `make chaos`): more rounds, longer failures, every case. */
export const isLong = process.env['WINDLASS_TEST_LONG'] === '1'
