/** The Docker daemon of one build, from our own image, in a real pod. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { issueCertificates } from '@windlass/manifests'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { openDindPods, type Answer, type CallOptions, type DindPods } from '../support/dind-pods.ts'

let pods: DindPods
let disk = ''

beforeAll(async () => {
  // Two runs on one machine share the cluster.
  pods = await openDindPods(`dind-${process.pid}`)
  disk = await mkdtemp(join(tmpdir(), 'windlass-dind-'))
})
afterEach(() => pods.remove())
afterAll(async () => {
  await pods.close()
  await rm(disk, { recursive: true, force: true })
})

/** Starts the pod on the disk that all tests share, and waits until it is ready. Returns its address. */
async function startPod(): Promise<string> {
  await pods.create({ hostPath: { path: disk } })
  return pods.ready()
}

test('accepts only the engine, and contains the tools image when it is ready', async () => {
  const host = await startPod()
  const ping = (client?: CallOptions['client']): Promise<number | string> =>
    pods.call(host, '/_ping', client === undefined ? {} : { client }).then(
      ({ status }) => status,
      (error: Error) => error.message,
    )
  expect(await ping()).toBe(200)
  expect(await ping(null)).not.toBe(200)
  expect(await ping(issueCertificates({ now: Date.now(), validMs: 60_000 }))).not.toBe(200)
  expect(await pods.run('docker', 'run', '--rm', pods.toolsImage, 'git', '--version')).toContain('git version')
})

test('fails its pod when the daemon is killed, and the next one takes over the disk', async () => {
  await startPod()
  await pods.run('docker', 'volume', 'create', 'kept')
  // The command may end with the container, whose end is awaited.
  await pods.run('sh', '-c', 'kill -9 $(cat /var/run/docker.pid)').catch(() => undefined)
  expect(await pods.exitCode()).toBe(137)
  await pods.remove()

  await startPod()
  expect(await pods.run('docker', 'volume', 'ls', '--quiet')).toContain('kept')
  expect(await pods.run('docker', 'run', '--rm', pods.toolsImage, 'echo', 'runs')).toBe('runs')
})

test('recreates the folder of a volume that a full disk had no room for', async () => {
  await startPod()
  await pods.run('mkdir', '/var/lib/docker/volumes/half')
  expect(await pods.end()).toBe(0)

  await startPod()
  await pods.run('docker', 'volume', 'create', 'half')
  expect(await pods.run('docker', 'run', '--rm', '--volume', 'half:/half', pods.toolsImage, 'ls', '/')).toContain('half')
})

test('shuts down cleanly within its grace when its pod is deleted, with a container that still runs (R125)', async () => {
  await startPod()
  await pods.run('docker', 'run', '--detach', pods.toolsImage, 'sh', '-c', 'trap "exit 0" TERM; sleep 1000 & wait')
  expect(await pods.endByDeletion()).toBe(0)
})

test('a daemon that does not start because the disk is full tells Kubernetes so (R-14)', async () => {
  const fill = 'dd if=/dev/zero of=/var/lib/docker/full bs=1k 2>/dev/null; exec /usr/local/bin/run'
  await pods.create({ emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } }, { command: ['bash', '-c', fill] })
  expect(await pods.exitCode()).not.toBe(0)
  expect(await pods.message()).toMatch(/^No space left on device: the disk of the build has \d+ KiB left\. \S/)
})

const Ended = z.object({ State: z.object({ ExitCode: z.int(), OOMKilled: z.boolean() }) })

test('a step that takes the memory of the pod is killed alone, and the daemon goes on (R247)', async () => {
  // With requests below the limits, as runtimes have by default, Kubernetes lets the kernel kill the processes of the pod first.
  const resources = { requests: { memory: '64Mi' }, limits: { memory: '512Mi' } }
  await pods.create({ hostPath: { path: disk } }, { resources })
  const host = await pods.ready()
  // As an engine does, from outside of the pod: a process in it could be killed instead.
  const post = (path: string, body?: object): Promise<Answer> =>
    pods.call(host, path, { method: 'POST', ...(body !== undefined && { body }) })
  expect(await post('/containers/create?name=hungry', { Image: pods.toolsImage, Cmd: ['tail', '/dev/zero'] })).toMatchObject({
    status: 201,
  })
  expect(await post('/containers/hungry/start')).toMatchObject({ status: 204 })
  expect((await post('/containers/hungry/wait')).status).toBe(200)
  const { State: state } = Ended.parse(JSON.parse((await pods.call(host, '/containers/hungry/json')).body))
  expect(state).toEqual({ ExitCode: 137, OOMKilled: true })
  expect(await pods.run('docker', 'run', '--rm', pods.toolsImage, 'echo', 'runs')).toBe('runs')
  await pods.run('docker', 'rm', 'hungry')
})
