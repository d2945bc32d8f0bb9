/** The programs that tests start as processes. */
import { join } from 'node:path'
import { PROGRAMS } from '../../scripts/programs.ts'

const root = join(import.meta.dirname, '../..')

/** Programs of tests only. */
export const TEST_PROGRAMS = {
  'chaos-server': 'e2e/chaos/processes/server.ts',
  'chaos-agent': 'e2e/chaos/processes/agent.ts',
  'chaos-engine': 'e2e/chaos/processes/engine.ts',
} as const

const SOURCES = { ...PROGRAMS, ...TEST_PROGRAMS }

export type ProgramName = keyof typeof SOURCES

/** Folder with the bundles of all programs and the command `windlass`. `scripts/test` sets it; without it, tests run the sources. */
const bundles = process.env['WINDLASS_PROGRAMS']

/** Node that runs the programs. */
export const NODE = join(root, 'node_modules/node/bin/node')

/** The command `windlass`. */
export const WINDLASS = join(bundles ?? root, 'windlass')

/** Options of Node for programs: they load without collecting garbage many times, which takes a tenth of the processor time of a start. */
export const NODE_OPTIONS = ['--min-semi-space-size=4'] as const

/** Returns the file that Node runs: the bundle of a program, which starts in half the processor time, or its source. */
export function programFile(name: ProgramName): string {
  return bundles === undefined ? join(root, SOURCES[name]) : join(bundles, `${name}.js`)
}
