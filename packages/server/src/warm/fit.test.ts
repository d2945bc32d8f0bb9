import { RuntimeSpec } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { fitKey, triggerLabel } from './fit.ts'

const spec = RuntimeSpec.parse({ dockerDaemonScheduler: { pvcs: { dind: { reuseVolumeSelector: 'pipeline_id,trigger' } } } })
const build = { pipeline_id: 'p', project_id: null, branch: 'main', trigger: 'manual', trigger_name: 'push' } as const

test('builds of two triggers of one pipeline use different disks if disks are selected by trigger (R199)', () => {
  expect(fitKey(spec, build)).toBe(fitKey(spec, { ...build, branch: 'next' }))
  expect(fitKey(spec, build)).not.toBe(fitKey(spec, { ...build, trigger_name: 'nightly' }))
})

test('the label of a build without a named trigger is the kind of its trigger', () => {
  expect(triggerLabel(build)).toBe('push')
  expect(triggerLabel({ ...build, trigger_name: null })).toBe('manual')
})
