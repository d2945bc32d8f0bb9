/** Disks and checks: the commands against a real server with a real agent, whose executor keeps disks in memory. */
import { systemClock } from '@windlass/kit'
import { expect, test } from 'vitest'
import { openHttpScene } from '../../../server/test/support/http-scene.ts'
import { diskFacts, startDiskAgent } from '../fakes/disk-agent.ts'
import { windlass } from '../windlass.ts'

async function until(is: () => Promise<boolean>): Promise<void> {
  for (let turn = 0; !(await is()); turn += 1) {
    if (turn > 500) throw new Error('timed out')
    await systemClock.sleep(20)
  }
}

test('get and delete disks: why a new one was made, and a refusal with the build of a disk in use (W080)', async () => {
  await using scene = await openHttpScene()
  await using host = await startDiskAgent(scene, [diskFacts('old', { whyNew: 'No disk fits: 1 in use.' })])
  const { disks } = host
  const build = await scene.submit()
  disks.set('busy', diskFacts('busy', { state: 'in-use', buildId: build.id }))
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
  await using scene = await openHttpScene()
  await using host = await startDiskAgent(scene, [])
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
