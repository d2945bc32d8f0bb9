import fc from 'fast-check'
import { expect, test } from 'vitest'
import { CLUSTER_TYPES, V1Task } from './shapes.ts'
import { splitTasks } from './split.ts'

const Types = [...CLUSTER_TYPES, 'AgentTask', 'Unknown'] as const
const parts = fc.record({
  type: fc.constantFrom(...Types),
  workflow: fc.constantFrom('w1', 'w2', 'w3', ''),
  runtime: fc.constantFrom('r1', 'r2'),
  minute: fc.nat(59),
})

test('splits a shuffled poll into batches by workflow, in order and oldest first, without losing or duplicating a task (R227)', () => {
  fc.assert(
    fc.property(fc.array(parts, { maxLength: 30 }), (list) => {
      const tasks = list.map(({ type, workflow, runtime, minute }, n) =>
        V1Task.parse({
          _id: String(n),
          type,
          metadata: {
            workflowId: workflow,
            reName: runtime,
            createdAt: new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString(),
          },
        }),
      )
      const { batches, agentTasks, refused } = splitTasks(tasks)
      const all = [...batches.flatMap((batch) => batch.tasks), ...agentTasks, ...refused.map(({ task }) => task)]
      expect(all.map(({ _id }) => Number(_id)).toSorted((a, b) => a - b)).toEqual(list.map((_, n) => n))
      const times = agentTasks.map(({ metadata }) => metadata.createdAt)
      expect(times).toEqual(times.toSorted())
      expect(batches.map(({ createdAt }) => createdAt)).toEqual(
        batches.map(({ createdAt }) => createdAt).toSorted((a, b) => a - b),
      )
      for (const { tasks: own, workflowId, runtime } of batches) {
        const order = own.map(({ type }) => CLUSTER_TYPES.findIndex((known) => known === type))
        expect(order).toEqual(order.toSorted((a, b) => a - b))
        expect(own.every(({ metadata }) => metadata.workflowId === workflowId && metadata.reName === runtime)).toBe(true)
        for (const type of CLUSTER_TYPES) {
          const ids = own.filter((task) => task.type === type).map(({ _id }) => Number(_id))
          expect(ids).toEqual(ids.toSorted((a, b) => a - b))
        }
      }
    }),
  )
})

test('counts an invalid time as the oldest and tells the kinds of batches apart', () => {
  const task = (type: string, workflowId: string, createdAt: string): V1Task =>
    V1Task.parse({ _id: `${type}-${workflowId}`, type, metadata: { workflowId, reName: 'r', createdAt } })
  const { batches } = splitTasks([
    task('CreatePod', 'create', '2026-01-01T00:00:00Z'),
    task('DeletePod', 'terminate', 'yesterday'),
    task('CreatePvc', 'both', '2025-01-01T00:00:00Z'),
    task('DeletePvc', 'both', '2025-01-02T00:00:00Z'),
  ])
  expect(batches.map(({ kind, workflowId }) => [kind, workflowId])).toEqual([
    ['terminate', 'terminate'],
    ['both', 'both'],
    ['create', 'create'],
  ])
})
