import { expect, test } from 'vitest'
import { growth, LINEAR } from '../../../plan/test/cpu-time.ts'
import { COMMON, ROOT } from '../language/language.ts'
import { SPEC } from '../language/pipeline-language.ts'
import { freestyle } from '../actions/freestyle.ts'
import { gitClone } from '../actions/git-clone.ts'
import { checkPipeline } from '../compile/check-pipeline.ts'
import { BUILT_IN_CATALOG } from '../typed/built-in.ts'
import { completeAt, explainAt } from './assist.ts'
import { fixOf } from './fix.ts'
import { stagesOf, stepNamesOf, type KnownNames } from './names.ts'

/** Completes at the mark `|` of a text. Returns the labels in order. */
function complete(marked: string, names: KnownNames = {}): string[] {
  const offset = marked.indexOf('|')
  return completeAt(marked.replace('|', ''), offset, names).items.map(({ label }) => label)
}

const without = (fields: object, ...names: string[]): string[] => Object.keys(fields).filter((name) => !names.includes(name))

test('the root offers its fields and not those that it has', () => {
  expect(complete('|').toSorted()).toEqual([...Object.keys(ROOT), 'kind'].toSorted())
  expect(complete("version: '1.0'\n|\nsteps:\n  a:\n    image: x\n")).toEqual(without(ROOT, 'version', 'steps'))
})

test('a step offers exactly the fields of its type', () => {
  const fields = without({ ...COMMON, ...freestyle.fields }, 'image', 'commands', 'success_criteria')
  expect(complete('steps:\n  a:\n    image: x\n    |\n    commands: [a]\n  b:\n    type: git-clone\n')).toEqual(fields)
  const clone = without({ ...COMMON, ...gitClone.fields }, 'type', 'success_criteria')
  expect(complete('steps:\n  a:\n    image: x\n  b:\n    type: git-clone\n    re|\n')).toEqual(clone)
  expect(complete('kind: pipeline\nspec:\n  steps:\n    a:\n      type: "git-clone:1.0.0"\n      |')).toEqual(clone)
})

test('groups, hooks and expanded steps offer what is allowed there', () => {
  const group = complete('steps:\n  all:\n    type: parallel\n    |\n')
  expect(group).toContain('success_criteria')
  expect(group).not.toContain('matrix')
  expect(complete('steps:\n  a:\n    image: x\n    matrix:\n      image: [a]\n    |\n')).toContain('success_criteria')
  const hook = complete('steps:\n  a:\n    image: x\n    hooks:\n      on_fail:\n        image: y\n        |\n')
  expect(hook).toContain('commands')
  expect(hook).not.toContain('stage')
  expect(hook).not.toContain('exec')
  expect(complete('steps:\n  all:\n    type: parallel\n    steps:\n      inner:\n        type: push\n        |')).toContain(
    'candidate',
  )
})

test('parts of fields, items of lists and settings offer their own fields', () => {
  expect(complete('steps:\n  a:\n    image: x\n    retry:\n      |\n')).toEqual(['maxAttempts', 'delay', 'exponentialFactor'])
  expect(complete('steps:\n  a:\n    when:\n      steps:\n        - name: b\n          |\n')).toEqual(
    ['all', 'any', 'on'].slice(2),
  )
  expect(complete('kind: pipeline\nspec:\n  variables:\n  - key: A\n    |')).toEqual(['value', 'encrypted', 'description'])
  expect(complete('kind: pipeline\nspec:\n  concurrency: 1\n  |\n').toSorted()).toEqual(
    [...new Set([...Object.keys(SPEC), ...Object.keys(ROOT)])].filter((name) => name !== 'concurrency').toSorted(),
  )
})

test('nothing is offered for names of steps, in texts, comments and braces', () => {
  expect(complete('steps:\n  |\n')).toEqual([])
  expect(complete('steps:\n  a:\n    commands:\n      - |\n')).toEqual([])
  expect(complete('steps:\n  a:\n    title: >-\n      some |\n')).toEqual([])
  expect(complete('steps:\n  a: {image: |')).toEqual([])
  expect(complete('# |')).toEqual([])
})

test('values are words, booleans, types, stages, steps, contexts and runtimes', () => {
  const names: KnownNames = {
    contexts: [
      { name: 'shared', type: 'config' },
      { name: 'github', type: 'git' },
    ],
    runtimes: ['prod'],
    stepTypes: ['acme/deploy:1.0.0'],
  }
  expect(complete('mode: |')).toEqual(['sequential', 'parallel'])
  expect(complete('steps:\n  a:\n    fail_fast: |')).toEqual(['true', 'false'])
  expect(complete('steps:\n  a:\n    type: |', names)).toEqual(
    expect.arrayContaining(['freestyle', 'git-clone', 'acme/deploy:1.0.0', 'codefresh-run:2.0.0']),
  )
  expect(complete('stages: [one, "two"]\nsteps:\n  a:\n    stage: |')).toEqual(['one', 'two'])
  expect(complete('stages:\n  - one\n  - two # last\nsteps:\n  a:\n    stage: |')).toEqual(['one', 'two'])
  expect(complete('steps:\n  b:\n    image: x\n  a:\n    when:\n      steps:\n        - name: |')).toEqual(['b', 'a'])
  expect(complete('kind: pipeline\nspec:\n  contexts:\n    - |', names)).toEqual(['shared'])
  expect(complete('steps:\n  a:\n    type: git-clone\n    git: |', names)).toEqual(['github'])
  expect(complete('kind: pipeline\nspec:\n  runtimeEnvironment:\n    name: |', names)).toEqual(['prod'])
})

test('a reference offers each variable once, with the level that its value comes from', () => {
  const text =
    'kind: pipeline\nspec:\n  variables:\n    - key: OWN\n      value: x\n  steps:\n    a:\n      commands:\n        - cf_export MADE=1\n        - echo ${{'
  const { items, from } = completeAt(text, text.length, {
    variables: [{ name: 'SHARED', level: 'context', about: 'From shared.' }],
  })
  expect(from).toBe(text.length)
  const levels = new Map(items.map(({ label, detail }) => [label, detail]))
  expect([levels.get('SHARED'), levels.get('OWN'), levels.get('MADE'), levels.get('CF_BRANCH')]).toEqual([
    'context',
    'pipeline',
    'export',
    'system',
  ])
  expect(items.length).toBe(levels.size)
  expect(items.find(({ label }) => label === 'OWN')?.insert).toBe('OWN}}')
})

test('fields, types and variables are explained', () => {
  const text = 'steps:\n  a:\n    type: git-clone\n    fail-fast: false\n    title: ${{CF_BRANCH}}\n'
  expect(explainAt(text, text.indexOf('fail-fast') + 2)).toMatchObject({ title: 'fail_fast', about: COMMON['fail_fast']?.about })
  expect(explainAt(text, text.indexOf('git-clone') + 2)).toMatchObject({ title: 'git-clone', about: gitClone.about })
  expect(explainAt(text, text.indexOf('CF_BRANCH') + 2)).toMatchObject({ title: 'CF_BRANCH', detail: 'variable, system' })
  expect(explainAt(text, text.indexOf('a:'))).toBeUndefined()
})

test('the fix of a problem removes it', () => {
  const text =
    "version: '1.0'\nstages: [check]\nsteps:\n  one:\n    image: alpine\n    comands: [a]\n    stage: chek\n  two:\n    image: alpine\n    fail_fats: true\n"
  let fixed = text
  for (let rounds = 0; rounds < 5; rounds += 1) {
    const [fix] = checkPipeline({ text: fixed, file: 'p.yml' }, BUILT_IN_CATALOG).flatMap(
      (problem) => fixOf(fixed, problem) ?? [],
    )
    if (fix === undefined) break
    fixed = fixed.slice(0, fix.from) + fix.insert + fixed.slice(fix.to)
  }
  expect(fixed).toBe(text.replace('comands', 'commands').replace('chek', 'check').replace('fail_fats', 'fail_fast'))
  expect(checkPipeline({ text: fixed, file: 'p.yml' }, BUILT_IN_CATALOG)).toEqual([])
})

test('finds names in linear time, also in a text that never closes its lists', () => {
  expect(growth(1_000, (lines) => stagesOf('stages: [\n'.repeat(lines)))).toBeLessThan(LINEAR)
  expect(growth(4_000, (lines) => stepNamesOf('steps:\n'.repeat(lines)))).toBeLessThan(LINEAR)
})
