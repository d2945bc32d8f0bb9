/** Start-up time of the command line, with a command that sends no request. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { WINDLASS } from '../../../e2e/support/programs.ts'
import { sample, type Line, type Row } from '../../row.ts'

const RUNS = 15
const WARM_UP = 2
const run = promisify(execFile)

export const commandStart: Line = { name: 'command-start', measure }

async function measure(): Promise<Row[]> {
  const value = await sample(RUNS, WARM_UP, async () => void (await run(WINDLASS, ['version'])))
  const floor = await sample(RUNS, WARM_UP, async () => void (await run(process.execPath, ['-e', '0'])))
  return [
    {
      name: 'command-start',
      figure: '`windlass version`, from its start to its end',
      unit: 'ms',
      value,
      warmUp: WARM_UP,
      floor: { what: 'a Node process that does nothing', value: floor },
      goal: 150,
    },
  ]
}
