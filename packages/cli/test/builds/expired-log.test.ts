import { systemClock } from '@windlass/kit'
import { expect, test } from 'vitest'
import { openHttpScene } from '../../../server/test/support/http-scene.ts'
import { retain } from '../../../server/src/retention.ts'
import { windlass } from '../windlass.ts'

test('an expired log ends immediately and is reported once', async () => {
  await using scene = await openHttpScene({ retention: { logDays: 0 } })
  const { build, engine } = await scene.start()
  await engine.log('step/hello', 'before\n')
  await engine.succeed()
  const { app } = scene.server
  // Its end must be in the past.
  const ended = app.clock.now()
  while (app.clock.now() <= ended) await systemClock.sleep(1)
  await retain(app)
  for (const words of [
    ['logs', build.id],
    ['logs', '-f', build.id],
  ]) {
    const { code, text } = await windlass(scene, words)
    expect(code).toBe(0)
    expect(text.match(/has expired/g)).toHaveLength(1)
    expect(text).not.toContain('before')
  }
})
