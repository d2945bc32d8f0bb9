/** The program of a job, as manager and helper exchange it. */
import { expect, test } from 'vitest'
import { pack, readProgram, type JobProgram } from './program.ts'

const program: JobProgram = { version: 1, stages: [], environmentFile: '/e', timeoutMs: 1_000, healthChecks: [] }

test('a helper reads the program of a manager of its version, and no other', () => {
  expect(readProgram(pack(program))).toEqual(program)
  for (const other of [{ ...program, version: 2 }, {}, null, 'program'])
    expect(() => readProgram(pack(other))).toThrow('Use the image of the helper that belongs to the version of the manager')
  expect(() => readProgram(pack(program).subarray(0, 20))).toThrow()
})
