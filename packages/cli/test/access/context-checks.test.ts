/** `check context` against a real server with a real agent and a real registry. */
import { expect, test } from 'vitest'
import { startRegistry } from '../../../../e2e/support/registry.ts'
import { startIdleAgent } from '../../../agent/test/support/idle-agent.ts'
import { openHttpScene } from '../../../server/test/support/http-scene.ts'
import { windlass } from '../windlass.ts'

test('check context says whether the login works, and fails if it does not (E31)', async () => {
  await using scene = await openHttpScene()
  await using _ = await startIdleAgent(scene)
  await using registry = await startRegistry({ auth: { user: 'ci', password: 'hunter2-hunter2' } })
  const put = (password: string): Promise<unknown> =>
    scene.admin.contexts.put('images', {
      name: 'images',
      type: 'registry',
      data: { domain: registry.domain, username: 'ci', password },
    })
  await put('hunter2-hunter2')
  const passed = await windlass(scene, ['check', 'context', 'images'])
  expect([passed.code, passed.text]).toEqual([0, expect.stringMatching(/reached +.* accepts the login of ci\./)])
  expect(passed.text).toMatch(/checked by the agent agent of local in \d+ ms/)
  await put('wrong-password')
  const failed = await windlass(scene, ['check', 'context', 'images', '--runtime', 'local'])
  expect([failed.code, failed.text]).toEqual([
    1,
    expect.stringMatching(/refused \(unauthorized\) +.*\n.*Check username and password/),
  ])
  const json = await windlass(scene, ['check', 'context', 'images', '-o', 'json'])
  expect(JSON.parse(json.text)).toMatchObject({
    runtime: 'local',
    state: 'done',
    result: { outcome: 'refused', reason: 'unauthorized' },
  })
  expect(passed.text + failed.text + json.text).not.toMatch(/hunter2-hunter2|wrong-password/)
  await scene.admin.contexts.put('plain', { name: 'plain', type: 'config', data: { A: '1' } })
  const none = await windlass(scene, ['check', 'context', 'plain'])
  expect([none.code, none.text]).toEqual([1, expect.stringContaining('holds variables (config)')])
})
