import { expect, test } from 'vitest'
import type { NotifyOn } from '@windlass/protocol'
import { matchesRule, type Happening, type Reported, type StoredRule } from './rule.ts'

const build: Reported = { pipeline_id: 'p1', project_id: 'j1', branch: 'main', initiator: 'mira' }
const RULE: StoredRule = { on: ['failure', 'recovery'], mine: false, pipelines: [], projects: [] }

const matches = (rule: Partial<StoredRule>, more: Partial<Reported> = {}, owner?: string): boolean =>
  matchesRule({ ...RULE, ...rule }, { type: 'build.failed' }, { build: { ...build, ...more }, owner })

test.each<[Happening['type'], NotifyOn[]]>([
  ['build.failed', ['failure', 'always']],
  ['build.recovered', ['recovery', 'always']],
  ['build.succeeded', ['always']],
  ['build.terminated', ['always']],
  ['build.waiting', ['approval']],
])('%s is reported by exactly %j', (type, expected) => {
  const reporting = (['failure', 'recovery', 'always', 'approval'] as const).filter((on) =>
    matchesRule({ ...RULE, on: [on] }, { type }, { build, owner: undefined }),
  )
  expect(reporting).toEqual(expected)
})

test('a rule without pipelines, projects and `mine` reports every build', () => {
  expect(matches({})).toBe(true)
  expect(matches({}, { pipeline_id: null, project_id: null, branch: null })).toBe(true)
})

test('pipelines, projects and `mine` add up', () => {
  const rule = { mine: true, pipelines: ['p1'], projects: ['j2'] }
  const other = { pipeline_id: 'p9', project_id: 'j9', initiator: 'jo' }
  expect(matches(rule, other, 'mira')).toBe(false)
  expect(matches(rule, { ...other, pipeline_id: 'p1' }, 'mira')).toBe(true)
  expect(matches(rule, { ...other, project_id: 'j2' }, 'mira')).toBe(true)
  expect(matches(rule, { ...other, initiator: 'mira' }, 'mira')).toBe(true)
  expect(matches(rule, { ...other, initiator: 'mira' })).toBe(false)
  expect(matches(rule, { pipeline_id: null, project_id: null, branch: null, initiator: 'jo' }, 'mira')).toBe(false)
})

test('the branch filter is a glob or a regular expression, and one that takes too long matches nothing', () => {
  expect(matches({ branch: 'release/*' })).toBe(false)
  expect(matches({ branch: 'release/*' }, { branch: 'release/1' })).toBe(true)
  expect(matches({ branch: '/^ma/' })).toBe(true)
  expect(matches({ branch: 'main' }, { branch: null })).toBe(false)
  expect(matches({ branch: '!main' }, { branch: null })).toBe(true)
  expect(matches({ branch: '/(/' })).toBe(false)
})
