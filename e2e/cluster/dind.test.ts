/** The Docker daemon of one build, from our own image, in a real pod. */
import { mkdtemp, rm } from 'node:fs/promises'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { DOCKER_PORT, DOCKER_SERVER_NAME, type DockerCertificates, issueCertificates } from '@windlass/manifests'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type Cluster, startCluster } from '../support/cluster.ts'
import { ensureImages } from '../support/images.ts'

// Two runs on one machine share the cluster.
const NAMESPACE = `dind-${process.pid}`
const POD = 'dind-under-test'
const certificates = issueCertificates({ now: Date.now(), validMs: 3_600_000 })

let cluster: Cluster
let image = ''
let toolsImage = ''
let disk = ''

beforeAll(async () => {
  const images = await ensureImages('dind', 'tools')
  image = images['DIND_IMAGE'] ?? ''
  toolsImage = images['TOOLS_IMAGE'] ?? ''
  cluster = await startCluster()
  await cluster.load(image)
  disk = await mkdtemp(join(tmpdir(), 'windlass-dind-'))
  await cluster.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } })
  await cluster.apply({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'certificates', namespace: NAMESPACE },
    stringData: {
      'ca.pem': certificates.ca,
      'server-cert.pem': certificates.serverCert,
      'server-key.pem': certificates.serverKey,
    },
  })
})
afterEach(() => kubectl('delete', 'pod', POD, '--ignore-not-found'))
afterAll(async () => {
  await cluster.kubectl('delete', 'namespace', NAMESPACE)
  await rm(disk, { recursive: true, force: true })
})

const kubectl = (...args: string[]): Promise<string> => cluster.kubectl('--namespace', NAMESPACE, ...args)
const inPod = (...command: string[]): Promise<string> => cluster.exec({ namespace: NAMESPACE, name: POD }, ...command)

/** Starts the pod on the disk that all tests share, and waits until it is ready. Returns its address. */
async function startPod(): Promise<string> {
  const container = {
    name: 'dind',
    image,
    imagePullPolicy: 'Never',
    securityContext: { privileged: true },
    readinessProbe: { exec: { command: ['/usr/local/bin/ready'] }, periodSeconds: 1 },
    volumeMounts: [
      { name: 'disk', mountPath: '/var/lib/docker' },
      { name: 'certificates', mountPath: '/etc/ssl/cf', readOnly: true },
    ],
  }
  const volumes = [
    { name: 'disk', hostPath: { path: disk } },
    { name: 'certificates', secret: { secretName: 'certificates' } },
  ]
  const spec = { restartPolicy: 'Never', terminationGracePeriodSeconds: 30, containers: [container], volumes }
  await cluster.apply({ apiVersion: 'v1', kind: 'Pod', metadata: { name: POD, namespace: NAMESPACE }, spec })
  await kubectl('wait', '--for=condition=Ready', `pod/${POD}`, '--timeout=60s')
  return kubectl('get', 'pod', POD, '--output', 'jsonpath={.status.podIP}')
}

/** Returns the status of `GET /_ping`, or the code of the failure. */
function ping(host: string, client?: Pick<DockerCertificates, 'clientCert' | 'clientKey'>): Promise<number | string> {
  const { promise, resolve } = Promise.withResolvers<number | string>()
  request({
    host,
    port: DOCKER_PORT,
    path: '/_ping',
    ca: certificates.ca,
    servername: DOCKER_SERVER_NAME,
    agent: false,
    ...(client === undefined ? {} : { cert: client.clientCert, key: client.clientKey }),
  })
    .on('response', (response) => resolve(response.resume().statusCode ?? 0))
    .on('error', (error) => resolve('code' in error ? String(error.code) : error.message))
    .end()
  return promise
}

/** Returns the exit code of the container once it has ended. */
async function exitCode(): Promise<number> {
  for (let i = 0; i < 300; i++) {
    const code = await kubectl('get', 'pod', POD, '--output', 'jsonpath={.status.containerStatuses[0].state.terminated.exitCode}')
    if (code !== '') return Number(code)
    await sleep(100)
  }
  throw new Error('timed out waiting for the end of the dind container')
}

test('accepts only the engine, and contains the tools image when it is ready', async () => {
  const host = await startPod()
  expect(await ping(host, certificates)).toBe(200)
  expect(await ping(host)).not.toBe(200)
  expect(await ping(host, issueCertificates({ now: Date.now(), validMs: 60_000 }))).not.toBe(200)
  expect(await inPod('docker', 'run', '--rm', toolsImage, 'git', '--version')).toContain('git version')
})

test('fails its pod when the daemon is killed, and the next one takes over the disk', async () => {
  await startPod()
  await inPod('docker', 'volume', 'create', 'kept')
  await inPod('sh', '-c', 'kill -9 $(cat /var/run/docker.pid)')
  expect(await exitCode()).toBe(137)
  await kubectl('delete', 'pod', POD)

  await startPod()
  expect(await inPod('docker', 'volume', 'ls', '--quiet')).toContain('kept')
  expect(await inPod('docker', 'run', '--rm', toolsImage, 'echo', 'runs')).toBe('runs')
})

test('recreates the folder of a volume that a full disk had no room for', async () => {
  await startPod()
  await inPod('sh', '-c', 'mkdir /var/lib/docker/volumes/half && kill -TERM 1')
  expect(await exitCode()).toBe(0)
  await kubectl('delete', 'pod', POD)

  await startPod()
  await inPod('docker', 'volume', 'create', 'half')
  expect(await inPod('docker', 'run', '--rm', '--volume', 'half:/half', toolsImage, 'ls', '/')).toContain('half')
})

test('shuts down cleanly within its grace when its pod is deleted, with a container that still runs (R125)', async () => {
  await startPod()
  await inPod('docker', 'run', '--detach', toolsImage, 'sh', '-c', 'trap "exit 0" TERM; sleep 1000 & wait')
  // Keeps the object of the ended pod, which has its exit code.
  await kubectl('patch', 'pod', POD, '--type=merge', '--patch', '{"metadata":{"finalizers":["windlass.io/test"]}}')
  try {
    await kubectl('delete', 'pod', POD, '--wait=false')
    expect(await exitCode()).toBe(0)
  } finally {
    await kubectl('patch', 'pod', POD, '--type=merge', '--patch', '{"metadata":{"finalizers":null}}')
  }
})

test('a daemon that does not start because the disk is full tells Kubernetes so (R-14)', async () => {
  const container = {
    name: 'dind',
    image,
    imagePullPolicy: 'Never',
    command: ['bash', '-c', 'dd if=/dev/zero of=/var/lib/docker/full bs=1k 2>/dev/null; exec /usr/local/bin/run'],
    securityContext: { privileged: true },
    volumeMounts: [{ name: 'disk', mountPath: '/var/lib/docker' }],
  }
  await cluster.apply({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: POD, namespace: NAMESPACE },
    spec: {
      restartPolicy: 'Never',
      containers: [container],
      volumes: [{ name: 'disk', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } }],
    },
  })
  await kubectl('wait', `pod/${POD}`, '--for=jsonpath={.status.phase}=Failed', '--timeout=120s')
  const message = await kubectl('get', 'pod', POD, '--output', 'jsonpath={.status.containerStatuses[0].state.terminated.message}')
  expect(message).toMatch(/^No space left on device: the disk of the build has \d+ KiB left\. \S/)
})
