import { expect, test } from 'vitest'
import { partsOf } from '../../../input/document-parts.ts'
import { judge } from './judge.ts'
import type { Surroundings, Left, Moved, SourceDocument, Verdict } from './verdict.ts'

const from = 'a.yml'

function documentsIn(text: string, more: Partial<SourceDocument> = {}): SourceDocument[] {
  return partsOf(text).map((part) => ({ ...part, from, name: 'team/app', isNamed: true, ...more }))
}

function judgeAll(documents: readonly SourceDocument[], known: Surroundings = {}): Verdict[] {
  const judging = judge(documents, { defaults: 'kept', ...known })
  for (;;) {
    const { done, value } = judging.next()
    if (done === true) return value
  }
}

function verdictsOf(text: string, known: Surroundings = {}): Verdict[] {
  return judgeAll(documentsIn(text), known)
}

function movedOf(text: string, known: Surroundings = {}): Moved {
  const [verdict] = verdictsOf(text, known)
  if (verdict === undefined || 'reasons' in verdict) throw new Error(`expected a moved resource, got ${JSON.stringify(verdict)}`)
  return verdict
}

function leftOf(text: string): Left {
  const [verdict] = verdictsOf(text)
  if (verdict === undefined || !('reasons' in verdict))
    throw new Error(`expected a resource that is left, got ${JSON.stringify(verdict)}`)
  return verdict
}

const pathsOf = (verdict: Moved): string[] => verdict.remarks.map(({ path }) => path)
const pipeline = (spec: string, more = ''): string => `kind: pipeline\nmetadata: {name: demo/app}\n${more}spec:\n${spec}`
const STEPS = '  steps: {a: {image: alpine}}\n'

test('a pipeline moves as it is written', () => {
  const text = pipeline(`  concurrency: 2 # per pipeline\n${STEPS}`)
  expect(movedOf(text)).toEqual({
    from,
    remarks: [],
    resource: {
      kind: 'pipeline',
      name: 'demo/app',
      text,
      masked: [],
      body: expect.objectContaining({ name: 'demo/app', document: text }),
    },
  })
})

test('a document with only steps gets a name and keeps its comments', () => {
  const text =
    "# Builds\nversion: '1.0'\nsteps:\n  a: # first\n    image: alpine\n    commands:\n      - |\n        echo a\n\n          echo b\n"
  const verdict = movedOf(text)
  expect(verdict.resource.text).toBe(
    `kind: pipeline\nmetadata:\n  name: team/app\nspec:\n  # Builds\n  version: '1.0'\n  steps:\n    a: # first\n      image: alpine\n      commands:\n        - |\n          echo a\n\n            echo b\n`,
  )
  expect(verdict.remarks).toMatchObject([{ reason: 'The document has no name; "team/app" is taken from its file.' }])
})

test('a pipeline that does not compile is left with every error and its line', () => {
  const left = leftOf(pipeline('  steps:\n    a: {type: github-action}\n    b: {type: git-clone, repo: a/b, colour: red}\n'))
  expect(left).toMatchObject({ kind: 'pipeline', name: 'demo/app', from })
  expect(left.reasons).toMatchObject([
    {
      path: 'steps.a.type',
      line: 5,
      reason: 'Step type "github-action" is not supported.',
      action: expect.stringMatching(/^Use /),
    },
    { path: 'steps.b.colour', line: 6 },
  ])
})

test('a masked value moves as an empty one and is named, and a real one is kept', () => {
  const verdict = movedOf(
    pipeline(
      `  variables:\n    - {key: A, value: '*****', encrypted: true} # secret\n    - {key: B, value: "*****"}\n    - {key: C, value: open, encrypted: true}\n    - key: D\n      encrypted: true\n      value: >\n        *****\n  triggers:\n    - {name: t, type: git, variables: [{key: E, value: '*****', encrypted: true}]}\n  steps: {a: {image: alpine, commands: [echo '*****']}}\n`,
    ),
  )
  const { text, masked } = verdict.resource
  expect(text).toContain(
    "    - {key: A, value: '', encrypted: true} # secret\n    - {key: B, value: ''}\n    - {key: C, value: open, encrypted: true}\n",
  )
  expect(text.split('*****')).toHaveLength(2)
  expect(masked).toEqual(['A', 'B', 'D'])
  expect(pathsOf(verdict).slice(0, 4)).toEqual([
    'spec.variables.A',
    'spec.variables.B',
    'spec.variables.D',
    'spec.triggers[0].variables.E',
  ])
  expect(verdict.remarks[0]).toMatchObject({ action: expect.stringContaining('windlass apply') })
  expect(verdict.remarks[3]).toMatchObject({ action: expect.stringMatching(/does not store secrets of triggers.*-S NAME=VALUE/) })
})

test('unknown and empty settings are left out, and only the unknown ones are named', () => {
  const verdict = movedOf(
    pipeline(
      `  weird: {a: 1}\n  concurrency: null\n  stages: null\n  runtimeEnvironment: {cpu: null, memory: 2Gi, flavor: x}\n  # kept\n${STEPS}`,
      'extra: 1\n',
    ),
  )
  expect(verdict.remarks.map(({ reason }) => reason)).toEqual([
    'The field "extra" does not exist in Windlass and is left out.',
    'The field "spec.weird" does not exist in Windlass and is left out.',
    'The field "spec.runtimeEnvironment.flavor" does not exist in Windlass and is left out.',
  ])
  expect(verdict.resource.text).toBe(pipeline('  runtimeEnvironment: {memory: 2Gi}\n  # kept\n  steps: {a: {image: alpine}}\n'))
})

test('problems of a document without its unknown fields have the lines of the file', () => {
  expect(leftOf(pipeline('  weird: 1\n  steps:\n    a: {type: github-action}\n')).reasons).toMatchObject([
    { path: 'steps.a.type', line: 6 },
  ])
})

test('names settings without effect, triggers, and what a pipeline refers to', () => {
  const text = pipeline(
    `  triggers: [{name: push, type: git}, {type: git}]\n  cronTriggers: [{name: nightly}]\n  packId: 5cd1746617313f468d669013\n  requiredAvailableStorage: ''\n  runtimeEnvironment: {name: prod/eu}\n  contexts: [shared]\n  externalResources: [{type: git, repo: a/b, context: work, source: a, destination: b, revision: main}]\n  steps:\n    main_clone: {type: git-clone, repo: a/b, git: github}\n    push: {type: push, candidate: x, registry: hub}\n    typed: {type: 'acme/none:1.0.0'}\n`,
  )
  const verdict = movedOf(text)
  expect(pathsOf(verdict)).toEqual([
    'spec.triggers',
    'spec.packId',
    'spec.runtimeEnvironment.name',
    'spec.contexts',
    'spec.externalResources[0].context',
    'steps.main_clone.git',
    'steps.push.registry',
    'steps.typed.type',
  ])
  expect(verdict.remarks.every(({ action }) => action.endsWith('.'))).toBe(true)
  expect(verdict.remarks[0]).toMatchObject({ reason: 'Triggers start builds when the forge calls this server (2: push).' })
  const known = movedOf(text, {
    runtimes: new Set(['prod/eu']),
    contexts: [
      { name: 'shared', type: 'secret', isDefault: false },
      { name: 'github', type: 'git', isDefault: true },
      { name: 'work', type: 'git', isDefault: false },
      { name: 'hub', type: 'registry', isDefault: true },
    ],
  })
  expect(pathsOf(known)).toEqual(['spec.triggers', 'spec.packId', 'steps.typed.type'])
})

test('a pipeline without a clone is named, unless the account adds one', () => {
  const text = pipeline('  steps: {b: {type: build, image_name: x, disable_push: true}}\n')
  expect(pathsOf(movedOf(text))).toEqual(['steps.b'])
  expect(pathsOf(movedOf(text, { automaticClone: true, contexts: [{ name: 'g', type: 'git', isDefault: true }] }))).toEqual([])
})

test('contexts and step types that move with a pipeline are known to it', () => {
  const verdicts = verdictsOf(
    `${pipeline("  contexts: [shared]\n  steps:\n    main_clone: {type: git-clone, repo: a/b, git: github}\n    hi: {type: 'acme/greet:1.0.0'}\n")}---
kind: step-type
version: '1.0'
metadata: {name: acme/greet, version: 1.0.0}
spec: {steps: {main: {image: alpine}}}
---
kind: context
metadata: {name: github}
spec: {type: git.github, data: {auth: {type: basic, password: '*****'}}}
---
kind: context
metadata: {name: shared}
spec: {type: config, data: {A: 1, B: true}}
`,
  )
  expect(verdicts.map((verdict) => ('resource' in verdict ? verdict.resource.name : ''))).toEqual([
    'acme/greet:1.0.0',
    'github',
    'shared',
    'demo/app',
  ])
  expect(verdicts.at(-1)).toMatchObject({ remarks: [] })
})

const context = (spec: string): string => `apiVersion: v1\nkind: context\nmetadata: {name: c, default: true}\nspec: ${spec}\n`

test('secret values of contexts are empty and named, and others move', () => {
  const verdict = movedOf(context("{type: secret, data: {A: '*****', B: open}}"))
  expect(verdict.resource).toMatchObject({
    body: { name: 'c', type: 'secret', isDefault: true, data: { A: '', B: 'open' } },
    masked: ['A'],
  })
  expect(verdict.resource.text).not.toContain('***')
  expect(pathsOf(verdict)).toEqual(['spec.data.A'])
  expect(movedOf(context('{type: config, data: {A: 1, B: true}}')).resource.body).toMatchObject({ data: { A: '1', B: 'true' } })
  expect(movedOf(context("{type: secret-yaml, data: {a: {b: ['*****', 1]}}}")).resource).toMatchObject({
    body: { data: { a: { b: ['', 1] } } },
    masked: ['a'],
  })
})

test('secrets that a file has empty are named, and count as values that the source does not show', () => {
  const context = (data: string): string => `kind: context\nmetadata: {name: c}\nspec: ${data}\n`
  const git = movedOf(context("{type: git, data: {url: 'https://git.example.com', password: ''}}"))
  expect(git.remarks).toMatchObject([
    { path: 'spec.data.password', reason: 'The value of "password" is a secret, which is empty.' },
  ])
  expect(git.resource.masked).toEqual(['password'])
  expect(movedOf(context("{type: config, data: {A: ''}}"))).toMatchObject({ remarks: [], resource: { masked: [] } })
  const { remarks, resource } = movedOf(
    pipeline(`  variables:\n    - {key: A, value: '', encrypted: true}\n    - {key: B, value: ''}\n${STEPS}`),
  )
  expect(remarks).toMatchObject([{ path: 'spec.variables.A', reason: 'The value is a secret, which is empty.' }])
  expect(resource.masked).toEqual(['A'])
})

test('Git integrations are converted, with their own host if they have one', () => {
  const urlOf = (spec: string): unknown => movedOf(context(spec)).resource.body
  expect(urlOf("{type: git.github, data: {auth: {type: basic, apiHost: api.github.com, password: '*****'}}}")).toMatchObject({
    type: 'git',
    data: { url: 'https://github.com', username: 'x-access-token', password: '' },
  })
  expect(urlOf('{type: git.gitlab, data: {auth: {type: basic, apiHost: git.example.com, username: bot}}}')).toMatchObject({
    data: { url: 'https://git.example.com', username: 'bot', password: '' },
  })
  expect(urlOf('{type: git.gitlab, data: {auth: {password: token}}}')).toMatchObject({
    data: { url: 'https://gitlab.com', username: 'oauth2', password: 'token' },
  })
  expect(pathsOf(movedOf(context("{type: git.bitbucket, data: {auth: {username: '*****'}}}")))).toEqual([
    'spec.data.auth.username',
    'spec.data.password',
  ])
  expect(leftOf(context('{type: git.stash, data: {auth: {}}}')).reasons[0]?.reason).toContain('The host of the Git server')
  expect(leftOf(context("{type: git.github, data: {auth: {apiHost: 'a/../b'}}}")).reasons).toHaveLength(1)
})

const integration = (name: string, type = 'registry'): string =>
  `kind: context\nmetadata: {name: ${name}, default: true}\nspec: {type: ${type}, data: {${type === 'git' ? 'url' : 'domain'}: https://example.com}}\n`

test.each([
  { title: 'another default of its type', defaults: 'kept', stored: 'other', type: 'registry', isDefault: false, remarks: 1 },
  { title: 'itself as the default', defaults: 'kept', stored: 'hub', type: 'registry', isDefault: true, remarks: 0 },
  { title: 'a default of another type', defaults: 'kept', stored: 'other', type: 'git', isDefault: true, remarks: 0 },
  {
    title: 'another default that may be replaced',
    defaults: 'replaced',
    stored: 'other',
    type: 'registry',
    isDefault: true,
    remarks: 0,
  },
  { title: 'no known default', defaults: undefined, stored: undefined, type: 'registry', isDefault: true, remarks: 1 },
] as const)('a default context moves to a target that has $title', ({ defaults, stored, type, isDefault, remarks }) => {
  const contexts = stored === undefined ? undefined : [{ name: stored, type, isDefault: true }]
  const verdict = movedOf(integration('hub'), { defaults, contexts })
  expect(verdict.resource.body).toMatchObject({ name: 'hub', isDefault })
  expect(verdict.resource.text.includes('default: true')).toBe(isDefault)
  expect(pathsOf(verdict)).toEqual(Array.from({ length: remarks }, () => 'metadata.default'))
})

test('the first of several default contexts of a type stays the default', () => {
  const verdicts = verdictsOf([integration('a'), integration('b'), integration('c', 'git')].join('---\n'))
  expect(verdicts).toMatchObject([
    { resource: { body: { name: 'a', isDefault: true } }, remarks: [] },
    {
      resource: { body: { name: 'b', isDefault: false } },
      remarks: [{ reason: expect.stringContaining('"a" is already the default') }],
    },
    { resource: { body: { name: 'c', isDefault: true } }, remarks: [] },
  ])
})

test('contexts that cannot move are left with what to do', () => {
  for (const spec of [
    '{type: helm-repository, data: {url: x}}',
    '{type: secret-store.hashicorp-vault, data: {url: x}}',
    "{type: kubernetes, data: {kubeconfig: '*****'}}",
    "{type: secret, data: '*****'}",
    '{type: config, data: {A: [1]}}',
  ])
    expect(leftOf(context(spec)).reasons).toMatchObject([
      { path: expect.stringMatching(/^spec\./), action: expect.stringMatching(/\.$/) },
    ])
})

test('variables of projects move, except encrypted ones', () => {
  const verdict = movedOf(
    "kind: project\nmetadata: {name: demo}\nspec:\n  tags: [a]\n  variables: [{key: A, value: b}, {key: S, value: '*****', encrypted: true}, {key: T, value: t, encrypted: true}]\n",
  )
  expect(verdict.resource.body).toEqual({ name: 'demo', variables: { A: 'b' } })
  expect(pathsOf(verdict)).toEqual(['spec.variables.S', 'spec.variables.T', 'spec.tags'])
  expect(movedOf('kind: project\nmetadata: {name: demo}\nspec: {variables: {A: b}}\n').remarks).toEqual([])
})

test('step types with errors, of the language, and included ones are left', () => {
  const stepType = (name: string, steps: string): string =>
    `kind: step-type\nmetadata: {name: ${name}, version: 1.0.0}\nspec:\n  steps: ${steps}\n`
  expect(leftOf(stepType('acme/a', '[]')).reasons).toMatchObject([{ line: 4, reason: '"steps" must be an object.' }])
  expect(leftOf(stepType('build', '{a: {image: x}}')).reasons[0]?.reason).toContain('pipeline language')
  expect(leftOf(stepType('codefresh-run', '{a: {image: x}}')).reasons[0]?.reason).toContain('included')
})

test('the first of two resources with one name moves', () => {
  const [first, second] = verdictsOf(`${pipeline(STEPS)}---\n${pipeline(STEPS)}`)
  expect(first).toMatchObject({ resource: { name: 'demo/app' } })
  expect(second).toMatchObject({ reasons: [{ reason: 'The pipeline "demo/app" is also in a.yml, which is used.' }] })
})

test('names that Windlass does not allow, other kinds and broken YAML are left; in a folder, other kinds are ignored', () => {
  expect(leftOf('kind: pipeline\nmetadata: {name: my project/app}\nspec: {}\n').reasons).toMatchObject([
    { path: 'metadata.name' },
  ])
  expect(leftOf('kind: pipeline\nspec: {}\n').reasons[0]?.reason).toBe('The document has no name.')
  expect(leftOf('kind: Deployment\n').reasons[0]?.reason).toBe('The kind "Deployment" is not migrated.')
  expect(leftOf('kind: pipeline\nspec: {a: b: c}\n')).toMatchObject({ kind: 'document', reasons: [{ line: 2 }] })
  expect(leftOf('kind: pipeline\n__proto__: {}\nmetadata: {name: a}\n').reasons).toHaveLength(1)
  const ignored = ['kind: Deployment\n', 'steps: [1]\n', 'a: b: c\n', '[]\n', 'name: x\n']
  for (const text of ignored) expect(judgeAll(documentsIn(text, { isNamed: false }))).toEqual([])
  expect(judgeAll(documentsIn("version: '1.0'\nsteps: {a: {image: b}}\n", { isNamed: false }))).toMatchObject([
    { resource: { kind: 'pipeline' } },
  ])
})

test('steps of an API whose names are numbers are named, because JSON moves them', () => {
  const steps = pipeline('  steps: {build: {image: a}, "1": {image: b}}\n')
  expect(movedOf(steps).remarks).toEqual([])
  expect(judgeAll(documentsIn(steps, { line: undefined }))).toMatchObject([{ remarks: [{ path: 'spec.steps' }] }])
})

test('a document that exceeds a limit is left with the limit, and the others move', () => {
  const aliases = Array.from({ length: 9 }, (_, n) => `  a${n + 1}: &a${n + 1} [${`*a${n},`.repeat(9)}]\n`).join('')
  const verdicts = verdictsOf(
    [
      `kind: pipeline\nmetadata: {name: expanding}\nspec:\n  a0: &a0 [x]\n${aliases}${STEPS}`,
      `kind: pipeline\nmetadata: {name: tokens}\nspec: {a: [${'x,'.repeat(200_000)}]}\n`,
      `kind: pipeline\nmetadata: {name: long}\nspec: {a: "${'x'.repeat(1_048_576)}"}\n`,
      pipeline(STEPS),
    ].join('---\n'),
  )
  expect(verdicts).toMatchObject([
    { reasons: [{ reason: 'The document is too large after its aliases are expanded.' }] },
    { reasons: [{ reason: 'The document has more than 250,000 YAML tokens.' }] },
    { reasons: [{ reason: 'The document is larger than 1 MiB.' }] },
    { resource: { name: 'demo/app' } },
  ])
})
