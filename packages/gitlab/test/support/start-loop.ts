/** The shell of a build container, as a process beside the test. */
import { spawn, type ChildProcess } from 'node:child_process'
import { onTestFinished } from 'vitest'
import { loopCommand } from '../../src/helper/shell-loop.ts'

/** Starts the loop. At the end of the test its process group is killed, with processes that stages left behind: outside a container they have no other parent. */
export function startLoop(exchangeFolder: string): ChildProcess {
  const [program = '', ...args] = loopCommand(exchangeFolder)
  const loop = spawn(program, args, {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { PATH: process.env['PATH'] },
    detached: true,
  })
  onTestFinished(() => {
    try {
      if (loop.pid !== undefined) process.kill(-loop.pid, 'SIGKILL')
    } catch {
      // All have ended.
    }
  })
  return loop
}
