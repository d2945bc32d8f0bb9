/** Disks and checks: the commands against a real server with a real agent, whose executor keeps disks in memory. */
import { startAgent, type Agent, type Executor } from '@windlass/agent'
import { nodeTransport, silentLog, systemClock } from '@windlass/kit'
import { createClient, type DiskFacts } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { openHttpScene, type HttpScene } from '../../server/test/support/http-scene.ts'
import { windlass } from './windlass.ts'

interface Host extends AsyncDisposable {
  readonly scene: HttpScene
  readonly disks: Map<string, DiskFacts>
  readonly agent: Agent
  /** Findings of the next check. */
  findings: Awaited<ReturnType<NonNullable<Executor['check']>>>
}

function disk(name: string, more: Partial<DiskFacts> = {}): DiskFacts {
  return {
    uid: `uid-of-${name}`,
    name,
    state: 'warm',
    sizeBytes: 2 ** 30,
    storageClass: 'disks',
    uses: 1,
    runtime: 'local',
    ...more,
  }
}

async function openHost(disks: readonly DiskFacts[]): Promise<Host> {
  const scene = await openHttpScene()
  const kept = new Map(disks.map((one) => [one.name, one]))
  const executor: Executor = {
    kind: 'kubernetes',
    start: async () => undefined,
    stop: async () => undefined,
    attempts: async () => [],
    close: async () => undefined,
    check: async () => host.findings,
    disks: {
      list: async () => ({ disks: [...kept.values()], failed: [] }),
      async remove({ name }) {
        if (kept.get(name)?.state === 'in-use') return { outcome: 'in-use', message: 'A build uses the disk.' }
        kept.delete(name)
        return { outcome: 'gone', message: 'The disk does not exist any more.' }
      },
    },
  }
  const client = createClient({ url: scene.server.url, token: scene.agentToken, transport: nodeTransport() })
  const agent = startAgent({ client, executor: () => executor, clock: systemClock, log: silentLog, disksMs: 100, waitMs: 2_000 })
  await agent.ready
  const host: Host = {
    scene,
    disks: kept,
    agent,
    findings: [],
    async [Symbol.asyncDispose]() {
      await agent.close(0)
      await scene[Symbol.asyncDispose]()
    },
  }
  return host
}

async function until(is: () => Promise<boolean>): Promise<void> {
  for (let turn = 0; !(await is()); turn += 1) {
    if (turn > 500) throw new Error('timed out')
    await systemClock.sleep(20)
  }
}

test('get and delete disks: why a new one was made, and a refusal with the build of a disk in use (W080)', async () => {
  await using host = await openHost([disk('old', { whyNew: 'No disk fits: 1 in use.' })])
  const { scene, disks } = host
  const build = await scene.submit()
  disks.set('busy', disk('busy', { state: 'in-use', buildId: build.id }))
  await until(async () => (await scene.admin.disks.list()).items.length === 2)
  const listed = await windlass(scene, ['get', 'disks', '--status', 'warm'])
  expect(listed.text).toMatch(/old +warm .*No disk fits: 1 in use\./)
  expect(listed.text).not.toContain('busy')
  const refused = await windlass(scene, ['delete', 'disk', 'busy'])
  expect(refused.code).not.toBe(0)
  expect(refused.text).toContain(`Build ${build.number} uses the disk busy.`)
  const removed = await windlass(scene, ['delete', 'disk', 'old'])
  expect([removed.code, removed.text]).toEqual([0, expect.stringContaining('disk/old removed')])
  expect(disks.has('old')).toBe(false)
  expect((await scene.admin.disks.list()).items.map(({ name }) => name)).toEqual(['busy'])
})

test('doctor --agent prints what the agent finds now, and fails if a check fails', async () => {
  await using host = await openHost([])
  const { scene } = host
  host.findings = [
    { check: 'rights', status: 'fail', message: 'Missing permission.', hint: 'Upgrade the chart.', runtime: 'local' },
  ]
  const failed = await windlass(scene, ['doctor', '--agent', 'agent'])
  expect(failed.code).toBe(1)
  expect(failed.text).toMatch(/local: rights +Missing permission\.\n.*Upgrade the chart\./)
  host.findings = []
  const passed = await windlass(scene, ['doctor', '--agent', 'agent'])
  expect(passed.text).not.toContain('Missing permission.')
  expect(passed.text).toMatch(/clock +agrees with the clock of the server/)
})
