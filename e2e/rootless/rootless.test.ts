/** The Docker daemon without root, from our own image, in a container with the privileges of its pod. */
import { createServer } from 'node:http'
import { once } from 'node:events'
import { readlink, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { issueCertificates } from '@windlass/manifests'
import { readDiskFacts } from '@windlass/volumes/clean'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openDocker } from '../../packages/engine/src/index.ts'
import { image } from '../../packages/engine/test/support/images.ts'
import { runPipeline } from '../../packages/engine/test/support/run-pipeline.ts'
import { containerHost } from '../support/docker.ts'
import { openRootlessDaemon, type RootlessDaemon } from './rootless-daemon.ts'

let daemon: RootlessDaemon
beforeAll(async () => {
  daemon = await openRootlessDaemon(`rootless-${process.pid}`)
  await daemon.start()
  await daemon.ready()
})
afterAll(() => daemon?.[Symbol.asyncDispose]())

test('no process of the pod of a rootless daemon runs as root (R053)', async () => {
  const processes = await daemon.processes()
  expect(processes.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['rootlesskit', 'slirp4netns', 'containerd', 'dockerd', 'dind-helper']),
  )
  expect(processes.filter(({ user }) => user !== 1_000)).toEqual([])
  expect(await daemon.run('docker', 'info', '--format', '{{.SecurityOptions}} {{.DockerRootDir}}')).toMatch(
    /name=rootless.*\/var\/lib\/docker$/,
  )
})

test('accepts only the engine', async () => {
  const docker = await openDocker({ env: await daemon.connection() })
  await docker.ping(10_000)
  docker.close()
  const foreign = issueCertificates({ now: Date.now(), validMs: 60_000 })
  await expect(openDocker({ env: await daemon.connection(foreign) })).rejects.toMatchObject({ code: 'docker-unreachable' })
})

test('runs the steps of a build with a shared volume and the network (R053)', async () => {
  await using web = await serve('from outside')
  const run = await runPipeline(
    `
version: '1.0'
steps:
  write: {image: $TOOLS, commands: [id -u, echo shared > file, 'chown 33:33 file']}
  read: {image: $TOOLS, commands: [cat file, 'stat -c %u:%g file', 'curl -sS ${web.url}']}
`,
    { dockerEnv: await daemon.connection() },
  )
  expect(run.log('system')).not.toContain('error')
  expect(run.outcome).toEqual({ status: 'success' })
  expect(run.output('write')).toBe('0\n')
  expect(run.output('read')).toBe('shared\n33:33\nfrom outside')
  expect((await daemon.processes()).filter(({ user }) => user === 0)).toEqual([])
})

test('publishes metrics of the daemon and of its disk (R249)', async () => {
  const host = await daemon.address()
  const read = async (port: number): Promise<string> => (await fetch(`http://${host}:${port}/metrics`)).text()
  expect(await read(9_100)).toContain('docker_up{')
  expect(await read(9_323)).toContain('engine_daemon_engine_info{')
})

test('cleans its disk when it ends, and the next daemon finds images, volumes and records', async () => {
  await daemon.run('docker', 'volume', 'create', 'kept')
  await daemon.run('docker', 'run', '--name', 'left', image('tools'), 'true')
  const before = await stat(daemon.disk)
  expect(await daemon.end()).toBe(0)
  await daemon.start()
  await daemon.ready()

  expect(await daemon.run('docker', 'volume', 'ls', '--quiet')).toContain('kept')
  expect(await daemon.run('docker', 'ps', '--all', '--quiet')).toBe('')
  // Kubernetes compares owner and mode of the disk before it changes those of all files on it.
  const after = await stat(daemon.disk)
  expect([after.mode, after.uid, after.gid]).toEqual([before.mode, before.uid, before.gid])
  expect(readDiskFacts(await readlink(join(daemon.disk, 'dind-volume/facts')))).toMatchObject({ buildsSince: 1 })
})

test('checks a node in the user namespace', async () => {
  await using check = await openRootlessDaemon(`rootless-check-${process.pid}`)
  await check.start('/usr/local/bin/check-node')
  expect(await check.exitCode()).toBe(0)
  const lines = (await check.log()).split('\n')
  for (const name of ['privileges', 'overlayfs', 'cgroups', 'iptables', 'nat', 'namespaces', 'mtu'])
    expect(lines).toContainEqual(expect.stringMatching(`^pass\\|${name}\\|`))
})

test('names the owner and the setting if the disk belongs to another user', async () => {
  await using other = await openRootlessDaemon(`rootless-owner-${process.pid}`, 0)
  await other.start()
  expect(await other.exitCode()).toBe(1)
  expect(await other.log()).toContain(
    'user 1000 cannot write to the disk at /home/rootless/.local/share/docker: set fsGroup of the pod to 1000, or IS_ROOTLESS',
  )
})

/** Serves a text on this machine, at an address that containers reach. */
async function serve(text: string): Promise<{ url: string; [Symbol.asyncDispose](): Promise<void> }> {
  const server = createServer((_, response) => void response.end(text)).listen(0, '0.0.0.0')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  return {
    url: `http://${await containerHost()}:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
