import { setTimeout as sleep } from 'node:timers/promises'
import { runProgram } from './process.ts'

/** Commands of a step that waits until the test calls `letGo`. */
export const UNTIL_LET_GO = 'until test -e /tmp/let-go; do sleep 0.1; done'

/** Lets a step that runs `UNTIL_LET_GO` on the Docker daemon of this machine continue, as soon as its container exists. */
export async function letGo(buildId: string): Promise<void> {
  const labels = ['--filter', `label=windlass.io/build=${buildId}`, '--filter', 'label=windlass.io/step']
  for (;;) {
    const ids = (await runProgram('docker', ['ps', '--quiet', ...labels])).split('\n').filter((id) => id !== '')
    for (const id of ids) {
      const touched = await runProgram('docker', ['exec', id, 'touch', '/tmp/let-go']).catch(() => undefined)
      if (touched !== undefined) return
    }
    await sleep(50)
  }
}
