/** Attachments of runtimes to an agent that overlap with other changes of the agent. */
import { expect, test } from 'vitest'
import { openHttpScene } from '../../../server/test/support/http-scene.ts'
import { attachOnServer, detachOnServer, findAgent } from '../../src/runner/attach/attach.ts'

test('attaches and detaches a runtime without undoing what others changed since the agent was read', async () => {
  await using scene = await openHttpScene()
  const { admin } = scene
  for (const name of ['r1', 'r2', 'r3', 'r4']) await admin.runtimes.create({ name, type: 'kubernetes' })
  await admin.agents.patch('agent', { runtimes: ['local', 'r1'] })

  const early = await findAgent(admin, { agentName: 'agent' })
  await admin.runtimes.put('r2', { name: 'r2', type: 'kubernetes', agent: 'agent' })
  await Promise.all([attachOnServer(admin, early, 'r3'), attachOnServer(admin, early, 'r4')])
  expect(await admin.agents.get('agent')).toMatchObject({ runtimes: ['local', 'r1', 'r2', 'r3', 'r4'] })
  expect(await admin.runtimes.get('r2')).toMatchObject({ agent: 'agent' })

  await detachOnServer(admin, early, 'r1')
  expect(await admin.agents.get('agent')).toMatchObject({ runtimes: ['local', 'r2', 'r3', 'r4'] })
})
