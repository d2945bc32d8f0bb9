/** The runtimes of an agent, changed by several callers at once. */
import { expect, test } from 'vitest'
import { openHttpScene } from '../../support/http-scene.ts'

test('adds and removes single runtimes of an agent, and keeps those that others give it meanwhile', async () => {
  await using scene = await openHttpScene()
  const { agents, runtimes } = scene.admin
  const names = ['r1', 'r2', 'r3', 'r4', 'r5']
  for (const name of names) await runtimes.create({ name, type: 'kubernetes' })
  await Promise.all([
    ...['r1', 'r3', 'r4'].map((name) => agents.patch('agent', { addRuntimes: [name] })),
    ...['r2', 'r5'].map((name) => runtimes.put(name, { name, type: 'kubernetes', agent: 'agent' })),
  ])
  expect(await agents.get('agent')).toMatchObject({ runtimes: ['local', ...names] })
  const { version } = await runtimes.get('r5')
  await Promise.all([
    ...['r4', 'r5'].map((name) => agents.patch('agent', { removeRuntimes: [name] })),
    agents.patch('agent', { addRuntimes: ['r6'] }),
  ])
  expect(await agents.get('agent')).toMatchObject({ runtimes: ['local', 'r1', 'r2', 'r3', 'r6'] })
  expect(await runtimes.get('r2')).toMatchObject({ agent: 'agent' })
  const detached = await runtimes.get('r5')
  expect([detached.agent, detached.version]).toEqual([undefined, version + 1])
  for (const patch of [
    { runtimes: ['r1'], addRuntimes: ['r2'] },
    { runtimes: [], removeRuntimes: [] },
    { addRuntimes: ['r1'], removeRuntimes: ['r1'] },
  ])
    await expect(agents.patch('agent', patch)).rejects.toMatchObject({ code: 'request-invalid' })
})
