/** The installation of the wizard: a server on this machine, and a Runner of the charts in the one-node cluster. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { nodeTransport } from '@windlass/kit'
import { openClient } from '@windlass/client'
import { parse } from 'yaml'
import { startCluster } from '../../e2e/support/cluster.ts'
import { codeFileOf } from '../../e2e/support/first-admin.ts'
import { ensureImages } from '../../e2e/support/images.ts'
import { restartable } from '../../e2e/support/installation.ts'
import { freePort, runProgram } from '../../e2e/support/process.ts'
import { requireCluster, toStack, type ClusterStack } from './cluster.ts'

const root = join(import.meta.dirname, '../..')

/** Installs with `windlass runner init --yes`. Throws `MissingPartError` unless the cluster is already up. */
export async function openRunnerStack(): Promise<ClusterStack> {
  await requireCluster()
  const namespace = `bench-runner-${process.pid}`
  const images = await ensureImages('tools', 'dind', 'windlass')
  const cluster = await startCluster()
  await cluster.load(images['DIND_IMAGE'] ?? '', images['WINDLASS_IMAGE'] ?? '')
  const helm = /HELM=(\S+)/.exec(await runProgram(join(root, 'scripts/helm/build'), []))?.[1] ?? ''
  const folder = await mkdtemp(join(tmpdir(), `${namespace}-`))
  const context = `node-${process.pid}`
  const kubeconfig = join(folder, 'kubeconfig')
  await writeFile(kubeconfig, JSON.stringify(await renamed(cluster.kubeconfig, context)), { mode: 0o600 })
  const port = await freePort()
  const url = `http://${cluster.host}:${port}`
  const server = await restartable('server', `${url}/readyz`, {
    WINDLASS_SERVER_DATA_DIR: join(folder, 'server'),
    WINDLASS_SERVER_PORT: String(port),
    WINDLASS_SERVER_ADVERTISED_URL: url,
  })
  const env = { WINDLASS_CONFIG: join(folder, 'config.yaml'), WINDLASS_HELM: helm, KUBECONFIG: kubeconfig, NO_COLOR: '1' }
  const windlass = (...args: string[]): Promise<void> => run(join(root, 'windlass'), args, { ...process.env, ...env })
  await windlass('auth', 'login', '--url', url, '--first-admin', '--code-file', codeFileOf(join(folder, 'server')))
  const settings = ['--kube-namespace', namespace, '--set-value', `Storage.LocalVolumeParentDir=${join(folder, 'disks')}`]
  await windlass('runner', 'init', '--yes', ...settings, '--demo-image', images['TOOLS_IMAGE'] ?? '')
  const { contexts } = parse(await readFile(env.WINDLASS_CONFIG, 'utf8'))
  const client = openClient({ url, transport: nodeTransport({ maxSockets: 64 }), token: String(contexts[0].apiKey) })
  const kubectl = (...args: string[]): Promise<string> => cluster.kubectl('--namespace', namespace, ...args)
  const close = async (): Promise<void> => {
    await runProgram(helm, ['uninstall', 'windlass-runtime', '--namespace', namespace], { env: { ...process.env, ...env } })
    await server.kill9()
    await cluster.kubectl('delete', 'namespace', namespace, '--timeout=90s')
    await cluster.kubectl('delete', 'persistentvolumes', '--selector', `pod_namespace=${namespace}`)
    await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 })
  }
  const runtime = `${context}/${namespace}`
  return toStack({ images, kubeconfig: cluster.kubeconfig, namespace, runtime, client, kubectl, close })
}

/** Returns the kubeconfig with a context of this installation only, because agents and runtimes are named after it. */
async function renamed(path: string, context: string): Promise<unknown> {
  const config = parse(await readFile(path, 'utf8'))
  config.contexts[0].name = context
  config['current-context'] = context
  return config
}

async function run(command: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<void> {
  const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString('utf8')))
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`windlass ${args.join(' ')} ended with ${code}:\n${output}`)
}
