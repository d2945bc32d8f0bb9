import { expect, test } from 'vitest'
import { ApplicationManifest } from './manifest.ts'
import { readDeployments } from './deployments.ts'

const deployed = (id: number, hour: number): object => ({ id, revision: `r${id}`, deployedAt: `2027-01-10T0${hour}:00:00Z` })
const manifest = (history: readonly object[], phase?: string): ApplicationManifest =>
  ApplicationManifest.parse({
    metadata: { name: 'shop', namespace: 'argocd' },
    spec: {},
    status: { history, ...(phase !== undefined && { operationState: { phase } }) },
  })
const healths = (list: ReturnType<typeof readDeployments>): string => list.map(({ id, health }) => `${id} ${health}`).join(', ')

test('the last deployment has the health of the application, and earlier ones keep theirs', () => {
  const [first, second] = [deployed(0, 1), deployed(1, 2)]
  let known = readDeployments(manifest([first], 'Succeeded'), undefined, 'healthy')
  expect(known).toEqual([{ id: 0, revisions: ['r0'], at: Date.parse('2027-01-10T01:00:00Z'), health: 'healthy' }])
  const next = (history: readonly object[], phase: string, health: 'healthy' | 'progressing' | 'degraded'): string => {
    known = readDeployments(manifest(history, phase), JSON.stringify(known), health)
    return healths(known)
  }
  // A sync changes the objects before the history has it, and one that fails never gets there.
  expect(next([first], 'Running', 'progressing')).toBe('0 healthy')
  expect(next([first], 'Failed', 'degraded')).toBe('0 healthy')
  expect(next([first], 'Succeeded', 'healthy')).toBe('0 healthy')
  expect(next([first, second], 'Succeeded', 'progressing')).toBe('1 progressing, 0 healthy')
  expect(next([first, second], 'Succeeded', 'degraded')).toBe('1 degraded, 0 healthy')
  expect(next([first, second, deployed(2, 3)], 'Running', 'degraded')).toBe('2 degraded, 1 degraded, 0 healthy')
  // Another application of the name begins again with 0.
  expect(next([deployed(0, 5)], 'Succeeded', 'progressing')).toBe('0 progressing')
})

test('only the newest deployments are kept, and what was never seen has an unknown health', () => {
  const history = Array.from({ length: 14 }, (_, id) => deployed(id, id % 9))
  const read = readDeployments(manifest(history), '[]', 'healthy')
  expect(read.map(({ id }) => id)).toEqual([13, 12, 11, 10, 9, 8, 7, 6, 5, 4])
  expect(healths(read.slice(0, 2))).toBe('13 healthy, 12 unknown')
  expect(readDeployments(manifest([]), undefined, 'healthy')).toEqual([])
})
