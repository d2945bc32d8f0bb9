import { describe, expect, test } from 'vitest'
import { finished, freestyle, serial, step } from '../../test/plans.ts'
import { emptySnapshot, fold } from '../state/fold.ts'
import type { BuildAction } from '../actions/build.ts'
import type { GitCloneAction } from '../actions/git-clone.ts'
import type { Action } from '../actions/index.ts'
import type { PlanStep } from '../plan.ts'
import { resolveStep } from './resolve-step.ts'
import type { StepResolution } from './resolve-step.ts'
import { buildScope } from '../expression/scope.ts'
import { toFlag } from '../fields/step-fields.ts'

const clone: GitCloneAction = {
  kind: 'git-clone',
  repo: 'https://git.example/me/app.git',
  excludeBlobs: false,
  skipTagsOnUpdate: false,
  useProxy: false,
}
const image: BuildAction = {
  kind: 'build',
  imageName: 'Me/App',
  tags: [],
  tagPolicy: 'lowercase',
  dockerfile: { path: 'Dockerfile' },
  buildArguments: [],
  noCache: false,
  noCfCache: false,
  cacheFrom: [],
  registryContexts: [],
  buildkit: false,
  squash: false,
  cacheTo: [],
  secrets: [],
  ssh: [],
  buildx: false,
}

/** Resolves a step after a step named `before` that ended with these members. */
function resolve(
  fields: Partial<PlanStep>,
  before: { name?: string; members?: Record<string, string>; variables?: Record<string, string> } = {},
): StepResolution {
  const name = before.name ?? 'before'
  const values = Object.fromEntries(Object.entries(before.variables ?? {}).map(([key, value]) => [key, { value }]))
  const plan = serial([step(name), step('it', fields)], { variables: [{ level: 'build', variables: values }] })
  const snapshot = fold(emptySnapshot(plan), finished(name, 1, { members: before.members ?? {} }))
  return resolveStep(plan.steps[1] ?? step('none'), buildScope({ plan, snapshot }), 2)
}

function directoryOf(action: Action, before: Parameters<typeof resolve>[1] = {}): string | undefined {
  const resolved = resolve({ action }, before).step?.action
  return resolved !== undefined && 'directory' in resolved ? resolved.directory : undefined
}

test('substitutes variables in texts, flags, timeout and environment', () => {
  const {
    step: resolved,
    problems,
    unresolved,
  } = resolve(
    {
      title: 'Test ${{V}}',
      failFast: '${{FF}}',
      timeout: '${{T}}m',
      action: freestyle({ image: 'node:${{V}}', commands: ['echo ${{NOPE}}'], environment: ['A=${{V}}', 'B=x=y'] }),
    },
    { variables: { V: '24', FF: 'No', T: '2' } },
  )
  expect(problems).toEqual([])
  expect(unresolved).toEqual(['NOPE'])
  expect(resolved).toMatchObject({
    title: 'Test 24',
    failFast: false,
    timeoutMs: 120_000,
    action: { image: 'node:24', commands: ['echo ${{NOPE}}'] },
  })
  expect(resolved?.environment).toMatchObject({
    V: '24',
    A: '24',
    B: 'x=y',
    CF_STEP_NAME: 'it',
    CF_CURRENT_ATTEMPT: '2',
    CF_MAX_ATTEMPTS: '1',
  })
})

test('yes, no, on and off are booleans in any case', () => {
  expect(['true', 'YES', 'on', '1', ' False ', 'no', 'OFF', '0', '42', 'maybe', ''].map(toFlag)).toEqual([
    true,
    true,
    true,
    true,
    false,
    false,
    false,
    false,
    undefined,
    undefined,
    undefined,
  ])
})

test('a timeout of 0 or an invalid one means no limit', () => {
  for (const timeout of ['0s', '0m', '${{NOPE}}', '5 days']) expect(resolve({ timeout }).step?.timeoutMs).toBeUndefined()
})

test('reports all problems of a step at once, each with its field', () => {
  const action = freestyle({
    image: '${{before}}',
    environment: ['=x'],
    volumes: ['../x:/y', 'a:/b', 'c:/b/', 'd:/codefresh/volume', 'noplace'],
  })
  const { step: resolved, problems } = resolve({ failFast: 'maybe', action })
  expect(resolved).toBeUndefined()
  expect(problems.map(({ field, message, reason }) => `${field} | ${message} | ${reason}`)).toEqual([
    'environment[0] | "environment[0]" must have the form NAME=VALUE | invalid-step',
    'image | "image" refers to "before", which has no value | invalid-step',
    'volumes[0] | "volumes[0]" must not leave the shared volume | mount-invalid',
    'volumes[2] | "volumes[2]" mounts the same path twice | mount-invalid',
    'volumes[3] | "volumes[3]" must not be mounted at /codefresh/volume | mount-invalid',
    'volumes[4] | "volumes[4]" must have the form source:/target[:ro] | mount-invalid',
    'fail_fast | "fail_fast" must be a boolean. Current value: maybe | invalid-step',
  ])
})

describe('working directory', () => {
  const main = { name: 'main_clone', members: { workingDirectory: '/codefresh/volume/app' } }

  test('is the shared volume without main_clone', () => {
    expect(directoryOf(freestyle())).toBe('/codefresh/volume')
  })

  test('is the folder of main_clone if that step exists', () => {
    expect(directoryOf(freestyle(), main)).toBe('/codefresh/volume/app')
    expect(directoryOf(image, main)).toBe('/codefresh/volume/app')
  })

  test('${{step}} is the directory of that step, even within a longer path', () => {
    const other = { name: 'other', members: { workingDirectory: '/codefresh/volume/lib' } }
    expect(directoryOf(freestyle({ workingDirectory: '${{other}}' }), other)).toBe('/codefresh/volume/lib')
    expect(directoryOf(freestyle({ workingDirectory: '${{other}}/sub/../dir/' }), other)).toBe('/codefresh/volume/lib/dir')
    expect(directoryOf(freestyle({ workingDirectory: '${{steps.other.workingDirectory}}' }), other)).toBe('/codefresh/volume/lib')
  })

  test('resolves a relative path below the default and keeps an absolute one', () => {
    expect(directoryOf(freestyle({ workingDirectory: './src' }), main)).toBe('/codefresh/volume/app/src')
    expect(directoryOf(freestyle({ workingDirectory: 'src' }))).toBe('/codefresh/volume/src')
    expect(directoryOf(freestyle({ workingDirectory: '/opt/x' }), main)).toBe('/opt/x')
  })

  test('IMAGE_WORK_DIR is the directory of the image', () => {
    expect(directoryOf(freestyle({ workingDirectory: 'IMAGE_WORK_DIR' }), main)).toBeUndefined()
  })

  test('a step without a directory is a problem', () => {
    expect(resolve({ action: freestyle({ workingDirectory: '${{before}}' }) }).problems[0]?.message).toBe(
      '"working_directory" refers to "before", which has no value',
    )
  })

  test('a clone gets a folder named like the repository, below the volume or the given directory', () => {
    expect(directoryOf(clone, main)).toBe('/codefresh/volume/app')
    expect(directoryOf({ ...clone, workingDirectory: 'deps' }, main)).toBe('/codefresh/volume/deps/app')
    for (const repo of [
      'me/lib',
      'git@host:me/lib.git',
      'ssh://git@host:22/me/lib/',
      'file:///srv/lib.git',
      'lib',
      'http://h/lib.git?x=1',
    ]) {
      expect(directoryOf({ ...clone, repo })).toBe('/codefresh/volume/lib')
    }
    expect(resolve({ action: { ...clone, repo: 'https://' } }).problems[0]?.field).toBe('repo')
  })
})

describe('volumes', () => {
  test('sources are always below the shared volume', () => {
    const action = resolve({ action: freestyle({ volumes: ['./x:/y', '/etc//passwd:/p:ro', '.:/all'] }) }).step?.action
    expect(action).toMatchObject({
      mounts: [
        { source: 'x', target: '/y', readOnly: false },
        { source: 'etc/passwd', target: '/p', readOnly: true },
        { source: '', target: '/all', readOnly: false },
      ],
    })
  })
})

describe('images and tags', () => {
  test('an image can be one that a step built', () => {
    const members = { imageId: 'sha256:1', imageName: 'me/app', imageTagName: 'v1' }
    for (const text of ['${{before}}', '${{steps.before.imageId}}', '${{before.imageId}}']) {
      expect(resolve({ action: freestyle({ image: text }) }, { members }).step?.action).toMatchObject({
        image: 'sha256:1',
        imageStep: 'before',
      })
    }
    expect(resolve({ action: { kind: 'push', candidate: '${{before}}', tags: ['x'] } }, { members }).step?.action).toMatchObject({
      candidate: 'sha256:1',
      candidateStep: 'before',
    })
  })

  test('tags and image names are lower case unless the tag policy is original', () => {
    expect(resolve({ action: { ...image, tags: ['V1-${{X}}'] } }, { variables: { X: 'RC' } }).step?.action).toMatchObject({
      imageName: 'me/app',
      tags: ['v1-rc'],
    })
    expect(resolve({ action: { ...image, tags: ['V1'], tagPolicy: 'original' } }).step?.action).toMatchObject({ tags: ['V1'] })
  })

  test('the default tag is the branch, else the revision, else latest', () => {
    expect(resolve({ action: image }, { variables: { CF_BRANCH: 'Feature/One' } }).step?.action).toMatchObject({
      tags: ['feature_one'],
    })
    expect(resolve({ action: image }, { variables: { CF_SHORT_REVISION: 'abc1234' } }).step?.action).toMatchObject({
      tags: ['abc1234'],
    })
    expect(resolve({ action: image }).step?.action).toMatchObject({ tags: ['latest'] })
  })

  test('a tag that no registry accepts is a problem', () => {
    const { problems } = resolve(
      { action: { ...image, tags: ['a/b', '${{NOPE}}', '${{SECRET}}'] } },
      { variables: { SECRET: 'not/for/messages' } },
    )
    expect(problems.map(({ message }) => message)).toEqual([
      '"tags[0]" is not a valid image tag. Current value: a/b',
      '"tags[1]" refers to "NOPE", which has no value',
      '"tags[2]" is not a valid image tag. Current value: ${{SECRET}}',
    ])
  })
})
