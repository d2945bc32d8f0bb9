/** A second Kubernetes without nodes: an API server with an etcd of its own. It stores objects, and runs nothing. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { silentLog } from '@windlass/kit'
import { openKube, type ClusterAccess, type Kube } from '@windlass/kube'
import { kubernetesPrograms, type Cluster } from './cluster.ts'
import { freePort, startService } from './process.ts'

/** Go collects the garbage of a small heap often. */
const ENV = { GOGC: '400' }

export interface ApiServer extends AsyncDisposable {
  /** Access of the administrator. Its URL is also for pods of the test cluster. */
  readonly access: ClusterAccess
  readonly kube: Kube
}

/** Starts one with the certificates of the test cluster, so its administrator is the same. Tokens of service accounts are not. */
export async function startApiServer(cluster: Cluster): Promise<ApiServer> {
  await using opening = new AsyncDisposableStack()
  const pki = join(dirname(cluster.kubeconfig), 'pki')
  const folder = await mkdtemp(join(tmpdir(), 'windlass-api-server-'))
  opening.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 }))
  const [port, client, peer] = [await freePort(), await freePort(), await freePort()]
  const [clients, peers] = [`http://127.0.0.1:${client}`, `http://127.0.0.1:${peer}`]
  const etcd = await startService({
    command: 'etcd',
    args: [
      `--data-dir=${join(folder, 'etcd')}`,
      `--listen-client-urls=${clients}`,
      `--advertise-client-urls=${clients}`,
      `--listen-peer-urls=${peers}`,
      `--initial-advertise-peer-urls=${peers}`,
      `--initial-cluster=default=${peers}`,
      '--unsafe-no-fsync',
    ],
    env: ENV,
    ready: async () => (await fetch(`${clients}/health`).catch(() => undefined))?.ok === true,
  })
  opening.defer(() => etcd.stop('SIGKILL'))
  const access: ClusterAccess = { ...cluster.access, server: `https://${cluster.host}:${port}` }
  const kube = openKube({ access, log: silentLog })
  const server = await startService({
    command: join(await kubernetesPrograms(), 'kube-apiserver'),
    args: [
      `--etcd-servers=${clients}`,
      `--secure-port=${port}`,
      '--bind-address=0.0.0.0',
      `--advertise-address=${cluster.host}`,
      '--endpoint-reconciler-type=none',
      '--service-cluster-ip-range=10.97.0.0/24',
      `--tls-cert-file=${pki}/apiserver.crt`,
      `--tls-private-key-file=${pki}/apiserver.key`,
      `--client-ca-file=${pki}/ca.crt`,
      `--service-account-key-file=${pki}/sa.pub`,
      `--service-account-signing-key-file=${pki}/sa.key`,
      // A token of the test cluster is of another issuer.
      '--service-account-issuer=https://second.example.com',
      '--authorization-mode=RBAC',
    ],
    env: ENV,
    // It creates this namespace at the end of its start.
    ready: async () => (await kube.find({ kind: 'Namespace', name: 'kube-system' }).catch(() => undefined)) !== undefined,
  })
  opening.defer(() => server.stop('SIGKILL'))
  opening.defer(() => kube.close())
  const opened = opening.move()
  return { access, kube, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}
