/** What an agent of protocol v1 refuses to create and to delete, against a scripted platform and a small API server. */
import { expect, test } from 'vitest'
import { changed, objectOf, policyWith, startTask, type Role } from './support/attempt-objects.ts'
import { openV1Scene, task, until, type V1Scene } from './support/v1-scene.ts'

const lines = (scene: V1Scene): string[] => scene.kube.calls.map(({ line }) => line)

/** Plays one poll and waits for the reports of all its tasks. */
async function play(scene: V1Scene, ...tasks: { _id: string }[]): Promise<Record<string, unknown>[]> {
  scene.platform.script.push(tasks)
  await until('reports of all', () => tasks.every(({ _id }) => scene.platform.reportsOf(_id).length > 0))
  return tasks.map(({ _id }) => scene.platform.reportsOf(_id)[0] ?? {})
}

test('checks whole objects, and deletes only objects of the workflow', async () => {
  await using scene = await openV1Scene()
  const cluster = { ...scene.cluster, policy: policyWith() }
  scene.agent({ clusterOf: () => cluster })
  const fair = startTask({}, { protocol: 'v1' })
  const create = (role: Role, changes?: readonly [path: string, value: unknown], workflow = fair.buildId): { _id: string } => {
    const { objects } = changes === undefined ? fair : changed(fair, role, changes[0].split('.'), changes[1])
    const type = role === 'claim' ? 'CreatePvc' : 'CreatePod'
    return task(type, { workflow, runtime: fair.runtime, spec: objectOf(objects, role) })
  }
  const remove = (type: string, name: string, workflow: string): { _id: string } =>
    task(type, { name, workflow, runtime: fair.runtime })
  const [claim, hostile, foreign, other, pod, disk, own] = [
    ...(await play(scene, create('claim'), create('dind', ['spec.hostPID', true]))),
    ...(await play(
      scene,
      create('engine', ['spec.volumes', [{ name: 'x', persistentVolumeClaim: { claimName: 'pvc-dind-p-data' } }]], 'p'),
    )),
    ...(await play(scene, create('claim', ['metadata.namespace', 'kube-system']))),
    ...(await play(scene, remove('DeletePod', 'postgres-w1', 'w1'))),
    ...(await play(scene, remove('DeletePvc', 'p-data', 'p'))),
    ...(await play(scene, remove('DeletePvc', `pvc-dind-${fair.buildId}-retry-2`, fair.buildId))),
  ]
  const refusal = (text: string): object => ({ status: 'Error', isRetriable: false, reason: expect.stringContaining(text) })
  expect(claim).toMatchObject({ status: 'Success' })
  expect(hostile).toMatchObject(refusal('spec.hostPID'))
  expect(foreign).toMatchObject(refusal('metadata.name'))
  expect(other).toMatchObject(refusal('metadata.namespace'))
  expect(pod).toMatchObject(refusal('Pod/postgres-w1: is not an object of the workflow "w1"'))
  expect(disk).toMatchObject(refusal('PersistentVolumeClaim/p-data: is not an object of the workflow "p"'))
  expect(own).toMatchObject({ status: 'Success' })
  const { name } = objectOf(fair.objects, 'claim').metadata
  expect(lines(scene)).toEqual([
    `POST persistentvolumeclaims/${name}`,
    // The objects of a refused batch are deleted.
    `DELETE persistentvolumeclaims/${name}`,
    `DELETE persistentvolumeclaims/${name}-retry-2`,
  ])
})
