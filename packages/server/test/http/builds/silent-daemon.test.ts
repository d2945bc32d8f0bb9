/** A Docker daemon that does not answer for a while, with a real server and engine: the build says what it waits for. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { silentLog, systemClock, type Clock } from '@windlass/kit'
import { expect, test } from 'vitest'
import { freePort } from '../../../../../e2e/support/process.ts'
import { startEngine } from '../../../../engine/src/index.ts'
import { openHttpScene } from '../../support/http-scene.ts'

/** A clock on which long waits of the engine are short. */
const hasty: Clock = { ...systemClock, sleep: (ms, signal) => systemClock.sleep(Math.min(ms, 50), signal) }

test('a build says that its Docker daemon does not answer, once', async () => {
  await using scene = await openHttpScene()
  const { id } = await scene.submit()
  const [task] = await scene.agent.claim()
  if (task?.kind !== 'start-attempt') throw new Error('no start task')
  const spoolDir = await mkdtemp(join(tmpdir(), 'windlass-silent-daemon-'))
  const engine = startEngine({
    serverUrl: scene.server.url,
    bootstrap: task.engine.bootstrap,
    dockerEnv: { DOCKER_HOST: `tcp://127.0.0.1:${await freePort()}` },
    spoolDir,
    clock: hasty,
    log: silentLog,
  })
  try {
    await scene.agent.report(task, 'done')
    const notices = async (): Promise<unknown[]> => {
      const { items } = await scene.admin.builds.feed(id)
      return items.flatMap((item) => (item.kind === 'event' && item.type === 'notice' ? [item.data] : []))
    }
    const notice = {
      level: 'info',
      message: expect.stringContaining('The Docker daemon of the build has not answered for 10 s.'),
    }
    await expect.poll(notices).toEqual([notice])
    await systemClock.sleep(200)
    expect(await notices()).toEqual([notice])
  } finally {
    await engine.stop()
    await rm(spoolDir, { recursive: true, force: true })
  }
})
