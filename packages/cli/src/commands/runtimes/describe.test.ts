import { Runtime } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { styleFor } from '../../format/style.ts'
import { describeRuntime } from './describe.ts'

const NOW = Date.UTC(2026, 0, 2, 12)
const id = '6'.repeat(24)
const runtime = Runtime.parse({
  id,
  name: 'prod/builds',
  type: 'kubernetes',
  agent: 'prod_builds',
  isDefault: true,
  spec: { extends: ['system/default/hybrid/k8s'] },
  version: 3,
  changedBy: 'admin',
  createdAt: NOW - 86_400_000,
  updatedAt: NOW - 3_600_000,
  agentOnline: false,
  agentState: { exists: true, lastSeenAt: NOW - 120_000, version: '1.2.3' },
  running: 2,
  waiting: 1,
})
const merged = {
  capacity: 20,
  runtimeScheduler: { cluster: { namespace: 'builds', nodeSelector: { pool: 'engines' } } },
  dockerDaemonScheduler: { pvcs: { dind: { storageClassName: 'fast', volumeSize: '30Gi' } } },
}
const images = [{ component: 'dind', image: 'windlass/dind:1.2.3' }]
const how = { style: styleFor(false), now: NOW }

test('describes a runtime with its agent, load, disk, nodes and images', () => {
  expect(describeRuntime({ runtime, merged, images }, how)).toEqual([
    'Runtime:        prod/builds',
    'Type:           kubernetes',
    'Default:        yes',
    'Agent:          prod_builds (offline, seen 2m ago, version 1.2.3)',
    'Builds:         2 running, 1 waiting',
    'Capacity:       20',
    expect.stringMatching(/^Version: {8}3, by admin on 2026-01-02/),
    'Extends:        system/default/hybrid/k8s',
    'Namespace:      builds',
    'Disk:           30Gi, class fast',
    'Engine nodes:   pool=engines',
    'Image of dind:  windlass/dind:1.2.3',
  ])
})

test('shows whether the agent is online if an older server tells no more, and that an agent is deleted', () => {
  const { agentState: _state, ...older } = runtime
  expect(describeRuntime({ runtime: older, merged, images: [] }, how)).toContain('Agent:         prod_builds (offline)')
  const deleted = { ...runtime, agentState: { exists: false } }
  expect(describeRuntime({ runtime: deleted, merged, images: [] }, how)).toContain(
    'Agent:         prod_builds (the agent is deleted)',
  )
})

test('says how to attach an agent to a runtime without one, and what is wrong with its warm pairs', () => {
  const {
    agent: _agent,
    agentState: _state,
    ...alone
  } = { ...runtime, warm: { ready: 0, starting: 1, problem: 'image not found' } }
  const lines = describeRuntime({ runtime: alone, merged: {}, images: [] }, how)
  expect(lines).toContain('Agent:       none; attach one: `windlass attach runtime`')
  expect(lines).toContain('Warm pairs:  0 ready, 1 starting; image not found')
  expect(lines.join('\n')).not.toMatch(/Disk|nodes|Namespace/)
})
