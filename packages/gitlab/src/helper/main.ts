/** `gitlab-runner-helper`: the program in the helper container of the pod of a GitLab job. */
import { stopSignal, systemClock } from '@windlass/kit'
import { AbsentCache } from '../cache/absent-cache.ts'
import { runCommand } from './commands.ts'

const signal = stopSignal()
// Standard output was closed.
process.stdout.on('error', () => process.exit(0))

try {
  await runCommand(process.argv.slice(2), {
    env: process.env,
    folder: process.cwd(),
    clock: systemClock,
    signal,
    output: process.stdout,
    input: process.stdin,
  })
} catch (error) {
  if (!signal.aborted) {
    const level = error instanceof AbsentCache ? 'WARNING' : 'ERROR'
    process.stderr.write(`${level}: ${error instanceof Error ? error.message : String(error)}\n`)
    process.exitCode = 1
  }
}
