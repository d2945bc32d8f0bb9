/** The first start of a Docker daemon, as on a new machine: in a network namespace, with its own folders. */
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runProgram, startService } from './process.ts'

const script = join(import.meta.dirname, '../../scripts/docker')

test('the address of this machine for containers is known at the first start of a Docker daemon', async () => {
  // Not below /tmp/windlass-…, because the path of a unix socket must be short.
  const folder = await mkdtemp('/tmp/first-')
  const host = `unix://${folder}/docker.sock`
  const folders = ['data-root', 'exec-root'].map((name) => `--${name}=${folder}/${name}`)
  const daemon = await startService({
    command: 'unshare',
    args: [
      '--net',
      'dockerd',
      ...folders,
      `--pidfile=${folder}/pid`,
      `--host=${host}`,
      '--iptables=false',
      '--default-address-pool=base=172.29.0.0/16,size=24',
    ],
    ready: (log) => log.includes('API listen on'),
  })
  try {
    const inside = ['--target', String(daemon.pid), '--net']
    const env = { ...process.env, DOCKER_HOST: host }
    expect(await runProgram('nsenter', [...inside, script, 'host'], { env })).toBe('172.29.0.1')
  } finally {
    await daemon.stop()
    await rm(folder, { recursive: true, force: true })
  }
})
