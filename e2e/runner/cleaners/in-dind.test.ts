/** The cleaner of a build's disk in real builds, whose disks are on a small file system. */
import { spawn } from 'node:child_process'
import { access, appendFile, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { eventually, type Installation, startInstallation } from '../../support/installation.ts'
import { mountLoopDisk, type LoopDisk } from './loop-disk.ts'

const NAMESPACE = `cleaners-${process.pid}`
/** A busy machine starts pods slowly. */
const TIMEOUT_MS = 180_000

let disk: LoopDisk
let installation: Installation
beforeAll(async () => {
  disk = await mountLoopDisk(2048)
  installation = await startInstallation(NAMESPACE, { agentEnv: { WINDLASS_AGENT_VOLUME_DIR: disk.path } })
  await setVariables({
    CLEAN_PERIOD_BUILDS: '2',
    IMAGE_RETAIN_PERIOD: '1',
    VOLUMES_RETAIN_PERIOD: '1',
    CLEAN_BUDGET_SECONDS: '8',
  })
})
afterAll(async () => {
  await installation?.close()
  await disk?.close()
})

/** Sets the settings of the daemons of the following builds. */
async function setVariables(envVars: Record<string, string>): Promise<void> {
  await installation.putRuntime(NAMESPACE, {
    runtimeScheduler: { cluster: { namespace: NAMESPACE } },
    dockerDaemonScheduler: { envVars, pvcs: { dind: { storageClassName: `dind-local-volumes-runner-${NAMESPACE}` } } },
  })
}

const Ready = z.object({ status: z.object({ containerStatuses: z.array(z.object({ ready: z.boolean() })) }) })
const tools = (): string => installation.images['TOOLS_IMAGE'] ?? ''

/** Runs a build of one step. Resolves when its pods are gone. */
async function build(commands: readonly string[]): Promise<{ status: string; log: string }> {
  const steps = { work: { image: tools(), commands } }
  const ended = await installation.run({ document: JSON.stringify({ version: '1.0', steps }) })
  const isGone = async (): Promise<true | undefined> =>
    [...(await installation.names('Pod')), ...(await installation.names('PersistentVolumeClaim'))].length === 0 ? true : undefined
  await eventually('the pods of the build are gone', isGone, TIMEOUT_MS)
  return { status: ended.build.status, log: ended.log }
}

/** Returns a path on the only disk. */
async function onDisk(...parts: string[]): Promise<string> {
  const [volume = ''] = (await readdir(disk.path)).filter((name) => name.startsWith('vol-'))
  return join(disk.path, volume, ...parts)
}

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )
const noted = async (name: string): Promise<string> => (await readFile(await onDisk('dind-volume', name), 'utf8')).trim()

async function dindPod(): Promise<string> {
  const find = async (): Promise<string | undefined> => {
    const pods = await installation.cluster.kube.list({ kind: 'Pod', namespace: NAMESPACE, labels: 'app=dind' })
    return pods.find((pod) => Ready.safeParse(pod).data?.status.containerStatuses[0]?.ready === true)?.metadata.name
  }
  return eventually('the pod of the daemon is ready', find, TIMEOUT_MS)
}

test('cleans a disk after the configured number of builds, and not before (R101, V15, V16)', async () => {
  const leave = [
    'docker volume create stale',
    'tar --create --files-from /dev/null | docker import - stale:1',
    `docker create --name forgotten ${tools()} true`,
  ]
  expect(await build(leave)).toMatchObject({ status: 'success' })
  const first = await noted('last_cleaned_pod')
  expect(await noted('pods')).toMatch(new RegExp(`^${first} \\d+$`))
  expect(await build(['docker ps --all --quiet --filter name=forgotten | wc -l', 'docker volume inspect stale'])).toMatchObject({
    status: 'success',
  })
  expect(await noted('last_cleaned_pod')).toBe(first)
  expect(await exists(await onDisk('volumes', 'stale'))).toBe(true)

  const running = build([
    'docker image inspect stale:1',
    'echo ready > /codefresh/volume/inspected',
    'until test -e /codefresh/volume/followed; do sleep 0.5; done',
  ])
  const pod = await dindPod()
  const follow = spawn('kubectl', [
    '--kubeconfig',
    installation.cluster.kubeconfig,
    '--namespace',
    NAMESPACE,
    'logs',
    '--follow',
    pod,
  ])
  let log = ''
  follow.stdout.on('data', (chunk: Buffer) => (log += chunk.toString('utf8')))
  const shared = await eventually('the step has inspected the image', () => sharedVolume('inspected'), TIMEOUT_MS)
  await eventually('the log of the daemon is followed', async () => (log === '' ? undefined : true))
  await writeFile(join(shared, 'followed'), '')
  expect(await running).toMatchObject({ status: 'success' })
  expect(await noted('last_cleaned_pod')).toBe(pod)
  expect(await exists(await onDisk('volumes', 'stale'))).toBe(false)
  await eventually('the log of the daemon tells it', async () =>
    /clean: cleaned with \d+ removals/.test(log) ? true : undefined,
  )
  // The last log lines of a deleted pod may be missing.
  expect(log.slice(0, log.indexOf('clean: cleaned'))).not.toContain("Processing signal 'terminated'")
  follow.kill()
})

test('removes during the next build what a clean-up had no time for', async () => {
  await setVariables({ CLEAN_PERIOD_BUILDS: '1', VOLUMES_RETAIN_PERIOD: '1', CLEAN_BUDGET_SECONDS: '0' })
  expect(await build(['docker volume create late', 'sleep 3'])).toMatchObject({ status: 'success' })
  const before = await noted('last_cleaned_pod')
  // Moved when the time is over, or when the next build starts.
  expect(await noted('left-over').catch(() => noted('to-remove'))).toContain('volume late')
  expect(await exists(await onDisk('volumes', 'late'))).toBe(true)
  expect(await build(['while docker volume inspect late >/dev/null 2>&1; do sleep 0.5; done'])).toMatchObject({
    status: 'success',
  })
  expect(await noted('last_cleaned_pod')).not.toBe(before)
})

test('cleans a disk that is more than 90 % full during a build around the running step (R102, R249, V18)', async () => {
  await setVariables({ IMAGE_RETAIN_PERIOD: '1', VOLUMES_RETAIN_PERIOD: '1' })
  const running = build([
    'docker volume create big',
    `docker run --name ended ${tools()} true`,
    `docker run --name kept --detach ${tools()} sleep 600`,
    'echo ready > /codefresh/volume/ready',
    'while docker volume inspect big >/dev/null 2>&1; do sleep 0.5; done',
    'until test -e /codefresh/volume/seen; do sleep 0.5; done',
    'docker ps --all --format "container {{.Names}}"',
    'echo survived',
  ])
  const pod = await dindPod()
  const shared = await eventually('the step has left something behind', () => sharedVolume('ready'), TIMEOUT_MS)
  await disk.fillTo(0.92, await onDisk('volumes', 'big', '_data', 'fill'))
  const address = await installation.kubectl('get', 'pod', pod, '--output', 'jsonpath={.status.podIP}')
  const readMetrics = async (): Promise<string | undefined> => {
    // The daemon of a pod that is ready may listen a moment later.
    const text = await fetch(`http://${address}:9100/metrics`).then(
      (answer) => answer.text(),
      () => '',
    )
    return /agent_actions_volumes\{.*\} [1-9]/.test(text) ? text : undefined
  }
  const metrics = await eventually('the metrics tell of the clean-up', readMetrics, TIMEOUT_MS)
  expect(metrics).toContain(`docker_up{dind_pod_name="${pod}",data_root_path="/var/lib/docker"} 1`)
  expect(metrics).toMatch(/agent_actions_containers\{.*\} [1-9]/)
  expect(await (await fetch(`http://${address}:9323/metrics`)).text()).toContain('engine_daemon_engine_info')
  await writeFile(join(shared, 'seen'), '')
  const { status, log } = await running
  expect(status, log).toBe('success')
  expect(log).toContain('survived')
  expect(log).toContain('container kept')
  expect(log).not.toContain('container ended')
})

test('makes room for a build on a disk that is completely full', async () => {
  await setVariables({ CLEAN_DOCKER: 'false' })
  expect(await build(['docker volume create junk'])).toMatchObject({ status: 'success' })
  await disk.fillTo(0.99, await onDisk('volumes', 'junk', '_data', 'fill'))
  const rest = await onDisk('volumes', 'junk', '_data', 'rest')
  const fill = async (): Promise<never> => {
    for (;;) await appendFile(rest, Buffer.alloc(65_536), { flush: true })
  }
  await expect(fill()).rejects.toThrow('ENOSPC')
  const { status, log } = await build(['echo there is room'])
  expect(status, log).toBe('success')
  expect(await exists(rest)).toBe(false)
})

/** Returns the folder of the volume to which the step has written the file. */
async function sharedVolume(file: string): Promise<string | undefined> {
  // A daemon that has just started on an empty disk has not created the folder yet.
  for (const name of await readdir(await onDisk('volumes')).catch(() => [])) {
    const folder = await onDisk('volumes', name, '_data')
    if (await exists(join(folder, file))) return folder
  }
  return undefined
}
