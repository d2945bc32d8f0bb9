/** Pods of the dind image on the test cluster, with certificates and a disk of the test, and without an agent. */
import { text } from 'node:stream/consumers'
import { request } from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'
import { DOCKER_PORT, DOCKER_SERVER_NAME, type DockerCertificates, issueCertificates } from '@windlass/manifests'
import { z } from 'zod'
import { addNamespace, startCluster } from './cluster.ts'
import { ensureImages } from './images.ts'

const POD = 'dind-under-test'
/** A busy machine starts pods slowly. */
const READY_SECONDS = 180

const Terminated = z.object({ exitCode: z.int(), message: z.string().default('') })
const PodStatus = z.object({
  podIP: z.string().optional(),
  containerStatuses: z.array(z.object({ state: z.object({ terminated: Terminated.optional() }) })).default([]),
})

export interface Answer {
  readonly status: number
  readonly body: string
}

export interface DindPods {
  readonly toolsImage: string
  /** Accepted by the daemon. */
  readonly certificates: DockerCertificates
  kubectl(...args: string[]): Promise<string>
  /** Creates the pod. `volume` is the source of its disk, `more` adds fields to its container. */
  create(volume: object, more?: { readonly command?: readonly string[]; readonly resources?: object }): Promise<void>
  /** Waits until the pod is ready. Returns its address. */
  ready(): Promise<string>
  /** Waits until the daemon answers an engine for the first time, which may be before the pod is ready. Returns its address. */
  firstAnswer(): Promise<string>
  /** Runs a command in the pod. */
  run(...command: string[]): Promise<string>
  /** Calls the Docker API as the engine does. Throws if the connection fails. */
  call(host: string, path: string, options?: CallOptions): Promise<Answer>
  /** Waits until the container has ended. Returns its exit code. */
  exitCode(): Promise<number>
  /** Returns what the container left for Kubernetes when it ended. */
  message(): Promise<string>
  /** Asks the daemon to end and removes the pod. Returns the exit code. */
  end(): Promise<number>
  /** Deletes the pod as the agent does. Returns the exit code. */
  endByDeletion(): Promise<number>
  remove(): Promise<void>
  close(): Promise<void>
}

export interface CallOptions {
  readonly method?: string
  readonly body?: object
  /** Certificate of the client; null for none. */
  readonly client?: Pick<DockerCertificates, 'clientCert' | 'clientKey'> | null
}

/** Creates a namespace on the test cluster, in which one dind pod runs at a time. */
export async function openDindPods(namespace: string): Promise<DindPods> {
  const images = await ensureImages('dind', 'tools')
  const image = images['DIND_IMAGE'] ?? ''
  const certificates = issueCertificates({ now: Date.now(), validMs: 3_600_000 })
  const { ca, serverCert, serverKey } = certificates
  const cluster = await startCluster()
  await cluster.load(image)
  await addNamespace(cluster, namespace)
  await cluster.apply({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'certificates', namespace },
    stringData: { 'ca.pem': ca, 'server-cert.pem': serverCert, 'server-key.pem': serverKey },
  })
  const kubectl = (...args: string[]): Promise<string> => cluster.kubectl('--namespace', namespace, ...args)
  const statusOf = async (): Promise<z.infer<typeof PodStatus>> =>
    PodStatus.parse((await cluster.kube.find({ kind: 'Pod', namespace, name: POD }))?.['status'])
  const ended = async (): Promise<z.infer<typeof Terminated> | undefined> =>
    (await statusOf()).containerStatuses[0]?.state.terminated
  const run = (...command: string[]): Promise<string> => cluster.exec({ namespace, name: POD }, ...command)

  async function create(volume: object, more: object = {}): Promise<void> {
    const container = {
      name: 'dind',
      image,
      imagePullPolicy: 'Never',
      ...more,
      securityContext: { privileged: true },
      readinessProbe: { exec: { command: ['/usr/local/bin/ready'] }, periodSeconds: 1 },
      volumeMounts: [
        { name: 'disk', mountPath: '/var/lib/docker' },
        { name: 'certificates', mountPath: '/etc/ssl/cf', readOnly: true },
      ],
    }
    const volumes = [
      { name: 'disk', ...volume },
      { name: 'certificates', secret: { secretName: 'certificates' } },
    ]
    const spec = { restartPolicy: 'Never', terminationGracePeriodSeconds: 30, containers: [container], volumes }
    await cluster.apply({ apiVersion: 'v1', kind: 'Pod', metadata: { name: POD, namespace }, spec })
  }

  async function call(host: string, path: string, { method = 'GET', body, client = certificates }: CallOptions = {}) {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    const headers = body === undefined ? {} : { 'content-type': 'application/json' }
    const key = client === null ? {} : { cert: client.clientCert, key: client.clientKey }
    request({ host, port: DOCKER_PORT, method, path, ca, servername: DOCKER_SERVER_NAME, agent: false, headers, ...key })
      .on('response', (response) => {
        text(response).then((content) => resolve({ status: response.statusCode ?? 0, body: content }), reject)
      })
      .on('error', reject)
      .end(body === undefined ? undefined : JSON.stringify(body))
    return promise
  }

  /** Polls until there is a result. */
  async function until<T>(what: string, look: () => Promise<T | undefined>): Promise<T> {
    for (let i = 0; i < 1_200; i++) {
      const found = await look()
      if (found !== undefined) return found
      await sleep(50)
    }
    throw new Error(`timed out waiting for ${what}: ${await kubectl('logs', POD)}`)
  }

  async function exitCode(): Promise<number> {
    return until('the end of the dind container', async () => (await ended())?.exitCode)
  }

  async function endByDeletion(): Promise<number> {
    const holdBack = (finalizers: readonly string[]): Promise<string> =>
      kubectl('patch', 'pod', POD, '--type=merge', '--patch', JSON.stringify({ metadata: { finalizers } }))
    // Keeps the object of the ended pod, which has its exit code.
    await holdBack(['windlass.io/test'])
    try {
      await kubectl('delete', 'pod', POD, '--wait=false')
      return await exitCode()
    } finally {
      await holdBack([])
    }
  }

  const remove = async (): Promise<void> => void (await kubectl('delete', 'pod', POD, '--ignore-not-found'))
  return {
    toolsImage: images['TOOLS_IMAGE'] ?? '',
    certificates,
    kubectl,
    create,
    async ready() {
      await kubectl('wait', '--for=condition=Ready', `pod/${POD}`, `--timeout=${READY_SECONDS}s`).catch(
        async (error: unknown) => {
          throw new Error(`the pod is not ready: ${await kubectl('logs', POD)}`, { cause: error })
        },
      )
      return (await statusOf()).podIP ?? ''
    },
    async firstAnswer() {
      const host = await until('the address of the pod', async () => (await statusOf()).podIP)
      const ping = (): Promise<string | undefined> =>
        call(host, '/_ping').then(
          ({ status }) => (status === 200 ? host : undefined),
          () => undefined,
        )
      return until('an answer of the daemon', ping)
    },
    run,
    call,
    exitCode,
    message: async () => (await ended())?.message ?? '',
    async end() {
      // The command may end with the container that it ends.
      await run('sh', '-c', 'kill -TERM 1').catch(() => undefined)
      const code = await exitCode()
      await remove()
      return code
    },
    endByDeletion,
    remove,
    close: async () => void (await cluster.kubectl('delete', 'namespace', namespace)),
  }
}
