import { expect, test } from 'vitest'
import { expandText } from './expand.ts'
import { Job } from './payload.ts'
import { jobVariables, timeoutOf, type VariableOptions, type Variables } from './variables.ts'

interface Given {
  readonly variables?: readonly object[]
  readonly runner?: VariableOptions['runner']
  readonly more?: Partial<VariableOptions>
}

function variablesOf({ variables = [], runner = {}, more = {} }: Given): Variables {
  const job = Job.parse({ id: 1, token: 't', variables, runner_info: { timeout: 3_600 } })
  return jobVariables({
    job,
    runner: { token: 'glrt-t1_abcdefghijklmn', ...runner },
    image: 'debian:13',
    flags: { FF_TIMESTAMPS: true },
    version: '1.2.3',
    revision: 'abcd1234',
    tls: {},
    buildsFolder: '/builds',
    projectFolder: '/builds/acme/app',
    concurrentId: 0,
    concurrentProjectId: 2,
    ...more,
  })
}

test('the runner sets its variables around those of the server', () => {
  const { list } = variablesOf({
    variables: [
      { key: 'CI_COMMIT_SHA', value: 'abc', public: true },
      { key: 'OWN', value: 'x' },
    ],
    runner: { environment: ['HOME=/build_home', 'EMPTY='] },
    more: { tls: { ca: 'PEM' } },
  })
  expect(list.map(({ key, value }) => `${key}=${value}`)).toEqual([
    'FF_TIMESTAMPS=true',
    'CI_JOB_IMAGE=debian:13',
    'CI_RUNNER_SHORT_TOKEN=abcdefghi',
    'HOME=/build_home',
    'EMPTY=',
    'CI_BUILDS_DIR=/builds',
    'CI_PROJECT_DIR=/builds/acme/app',
    'CI_CONCURRENT_ID=0',
    'CI_CONCURRENT_PROJECT_ID=2',
    'CI_SERVER=yes',
    'CI_JOB_STATUS=running',
    'CI_JOB_TIMEOUT=3600',
    'CI_SERVER_TLS_CA_FILE=PEM',
    'CI_COMMIT_SHA=abc',
    'OWN=x',
    'CI_DISPOSABLE_ENVIRONMENT=true',
    'CI_RUNNER_VERSION=1.2.3',
    'CI_RUNNER_REVISION=abcd1234',
    expect.stringMatching(/^CI_RUNNER_EXECUTABLE_ARCH=linux\//),
    'RUNNER_TEMP_PROJECT_DIR=/builds/acme/app.tmp',
  ])
})

test('a later variable replaces an earlier one, and flags of the configuration win over the job', () => {
  const { valueOf, list } = variablesOf({
    variables: [
      { key: 'HOME', value: '/root' },
      { key: 'A', value: '1' },
      { key: 'FF_TIMESTAMPS', value: 'false' },
      { key: 'A', value: '2' },
      { key: 'CI_RUNNER_VERSION', value: 'forged' },
    ],
    runner: { environment: ['HOME=/build_home'] },
  })
  expect(['HOME', 'A', 'FF_TIMESTAMPS', 'CI_RUNNER_VERSION'].map(valueOf)).toEqual(['/root', '2', 'true', '1.2.3'])
  expect(list.filter(({ key }) => key === 'A')).toHaveLength(1)
})

test('values are expanded once, raw ones never, and a file is its path', () => {
  const { valueOf, expand, list } = variablesOf({
    variables: [
      { key: 'NAME', value: 'app' },
      { key: 'IMAGE', value: 'registry/${NAME}:$TAG' },
      { key: 'NESTED', value: '$IMAGE' },
      { key: 'RAW', value: '$NAME', raw: true },
      { key: 'KUBECONFIG', value: 'content of $NAME', file: true },
      { key: 'ARGS', value: '--config $KUBECONFIG --price $$5 $1 ${missing}' },
    ],
  })
  expect(valueOf('IMAGE')).toBe('registry/app:')
  expect(valueOf('NESTED')).toBe('registry/${NAME}:$TAG')
  expect(valueOf('RAW')).toBe('$NAME')
  expect(valueOf('KUBECONFIG')).toBe('/builds/acme/app.tmp/KUBECONFIG')
  expect(list.find(({ key }) => key === 'KUBECONFIG')).toMatchObject({ value: 'content of app', isFile: true })
  expect(valueOf('ARGS')).toBe('--config /builds/acme/app.tmp/KUBECONFIG --price $5  ')
  expect(expand('$NAME-$RAW')).toBe('app-$NAME')
})

test('the trace masks the expanded values of masked variables', () => {
  const { masked } = variablesOf({
    variables: [
      { key: 'PART', value: 'secret' },
      { key: 'TOKEN', value: 'x-$PART', masked: true },
      { key: 'NONE', value: '', masked: true },
    ],
  })
  expect(masked).toEqual(['x-secret'])
})

test('variables of the server are private unless it says otherwise', () => {
  const { list } = variablesOf({
    variables: [
      { key: 'SECRET', value: 'x' },
      { key: 'SHOWN', value: 'y', public: true },
    ],
  })
  expect(list.filter(({ isInternal }) => !isInternal).map(({ key, isPublic }) => [key, isPublic])).toEqual([
    ['SECRET', false],
    ['SHOWN', true],
  ])
})

test.each([
  ['$A', '1'],
  ['${A}b', '1b'],
  ['$Ab', ''],
  ['a$', 'a$'],
  ['${A', '${A'],
  ['$$A', '$A'],
  ['${}', ''],
  ['$?$@', ''],
  ['a$-b', 'ab'],
  ['plain', 'plain'],
])('%s expands to "%s"', (text, expanded) => {
  expect(expandText(text, (name) => ({ A: '1' })[name])).toBe(expanded)
})

test('a job without a time limit has two hours', () => {
  expect([0, -5, 60].map((timeout) => timeoutOf({ runner_info: { timeout } }))).toEqual([7_200, 7_200, 60])
})
