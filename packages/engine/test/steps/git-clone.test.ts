import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '@windlass/kit'
import { startGitServer, type GitServer } from '../support/git-server.ts'
import { startSshServer } from '../support/ssh-server.ts'
import { runPipeline, testDocker } from '../support/run-pipeline.ts'

let server: GitServer

beforeAll(async () => {
  server = await startGitServer()
})

afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

function cloneAndRun(url: string, fields: string, commands: readonly string[]): string {
  return `
version: '1.0'
steps:
  main_clone:
    type: git-clone
    repo: ${url}
${fields}
  look:
    image: $SHELL
    commands: ${JSON.stringify(commands)}
`
}

test('clones a branch, a tag and a commit, and starts later steps in the clone (P034, P035, P021)', async () => {
  const repository = await server.create('team/app')
  const first = await repository.commit({ file: 'one' }, { tag: 'v1' })
  const second = await repository.commit({ file: 'two' }, { message: 'second "quoted"' })
  const other = await repository.commit({ file: 'three' }, { branch: 'feature/x' })
  const text = (revision: string): string =>
    cloneAndRun(repository.url, revision && `    revision: ${revision}`, [
      'pwd',
      'cat file; echo',
      'echo "$CF_REVISION $CF_SHORT_REVISION $CF_BRANCH"',
    ])
  const head = await runPipeline(text(''))
  expect(head.outcome).toEqual({ status: 'success' })
  expect(head.output('look')).toBe(`/codefresh/volume/app\ntwo\n${second} ${second.slice(0, 7)} main\n`)
  expect(head.snapshot.steps['main_clone']?.members).toEqual({
    revision: second,
    repo: 'app',
    workingDirectory: '/codefresh/volume/app',
  })
  expect(head.snapshot.steps['main_clone']?.output).toMatchObject({
    CF_COMMIT_AUTHOR: 'Ada',
    CF_COMMIT_MESSAGE: 'second \\"quoted\\"',
    CF_REPO_OWNER: 'team',
    CF_REPO_NAME: 'app',
  })
  expect((await runPipeline(text('feature/x'))).output('look')).toContain(`three\n${other} ${other.slice(0, 7)} feature/x\n`)
  expect((await runPipeline(text('v1'))).output('look')).toContain(`one\n${first} ${first.slice(0, 7)} v1\n`)
  expect((await runPipeline(text(first))).output('look')).toContain(`one\n${first} `)
})

test('clones the head of a pull request, whose ref is not a branch', async () => {
  const repository = await server.create('team/pulls')
  await repository.commit({ file: 'main' })
  const pull = await repository.commit({ file: 'pull' }, { branch: 'topic' })
  await promisify(execFile)('git', ['-C', repository.path, 'update-ref', 'refs/pull/7/head', pull])
  await promisify(execFile)('git', ['-C', repository.path, 'branch', '-D', 'topic'])
  for (const depth of ['', '\n    depth: 1']) {
    const fields = `    revision: refs/pull/7/head${depth}`
    const run = await runPipeline(cloneAndRun(repository.url, fields, ['cat file', 'echo " $CF_REVISION"']))
    expect(run.output('look')).toBe(`pull ${pull}\n`)
  }
})

test('starts later steps in the default folder after a clone with another name, which can still be named (P022, P023)', async () => {
  const repository = await server.create('named')
  await repository.commit({ file: 'x' })
  const run = await runPipeline(`
version: '1.0'
steps:
  code: {type: git-clone, repo: '${repository.url}', working_directory: below}
  look: {image: $SHELL, commands: [pwd]}
  inside: {image: $SHELL, working_directory: '\${{code}}', commands: [pwd]}
`)
  expect(run.output('look')).toBe('/codefresh/volume\n')
  expect(run.output('inside')).toBe('/codefresh/volume/below/named\n')
})

test('limits the history with depth (P036)', async () => {
  const repository = await server.create('deep')
  for (const n of [1, 2, 3, 4]) await repository.commit({ file: String(n) }, { tag: `t${n}` })
  const count = async (fields: string): Promise<string> => {
    const run = await runPipeline(`
version: '1.0'
steps:
  main_clone:
    type: git-clone
    repo: ${repository.url}
${fields}
  look: {image: $TOOLS, commands: [git rev-list --count HEAD, cat file]}
`)
    return run.output('look')
  }
  expect(await count('    depth: 2')).toBe('2\n4')
  expect(await count('    depth: 1\n    revision: t2')).toBe('1\n2')
  expect(await count('')).toBe('4\n4')
})

test('omits blobs of the history and tags on request (P037)', async () => {
  const repository = await server.create('partial')
  await repository.commit({ file: 'old' })
  await repository.commit({ file: 'new' })
  const volumeName = `windlass-test-${newId(Date.now())}`
  const text = `
version: '1.0'
steps:
  main_clone: {type: git-clone, repo: '${repository.url}', exclude_blobs: true, skip_tags_on_update: true}
  look: {image: $TOOLS, commands: [git config remote.origin.partialclonefilter, cat file, 'git tag | wc -l']}
`
  try {
    expect((await runPipeline(text, { input: { volumeName } })).output('look')).toBe('blob:none\nnew0\n')
    await repository.commit({ file: 'newest' }, { tag: 'later' })
    expect((await runPipeline(text, { input: { volumeName } })).output('look')).toBe('blob:none\nnewest0\n')
  } finally {
    await (await testDocker()).removeVolume(volumeName)
  }
})

test('removes untracked files in an update, keeps ignored ones, and ignores a stale lock (P038, P039)', async () => {
  const repository = await server.create('updated')
  await repository.commit({ '.gitignore': 'node_modules\n', file: '1' })
  const volumeName = `windlass-test-${newId(Date.now())}`
  const text = (commands: readonly string[]): string => cloneAndRun(repository.url, '', commands)
  try {
    const make = [
      'mkdir node_modules',
      'touch node_modules/kept untracked',
      'echo changed > file',
      'touch .git/index.lock .git/refs/heads/main.lock .git/objects/maintenance.lock',
      'mkdir .git/rebase-apply',
    ]
    await runPipeline(text(make), { input: { volumeName } })
    await repository.commit({ file: '2' })
    const second = await runPipeline(
      text(['ls -A', 'cat file; echo', 'ls node_modules', 'find .git -name "*.lock"; echo unlocked']),
      {
        input: { volumeName },
      },
    )
    expect(second.log('main_clone')).toContain('Updating the clone')
    expect(second.log('main_clone')).not.toMatch(/unrecognized|usage:/i)
    expect(second.output('look')).toBe('.git\n.gitignore\nfile\nnode_modules\n2\nkept\nunlocked\n')
    await runPipeline(text(['rm -rf .git/objects', 'echo broken > .git/HEAD']), { input: { volumeName } })
    const third = await runPipeline(text(['cat file']), { input: { volumeName } })
    expect(third.log('main_clone')).toContain('Cloning')
    expect(third.output('look')).toBe('2')
  } finally {
    await (await testDocker()).removeVolume(volumeName)
  }
})

test('logs in with the integration by name, default or host without showing its password (P040)', async () => {
  const repository = await server.create('private/code')
  await repository.commit({ file: 'secret code' })
  server.login = { username: 'robot', password: 'hunter2hunter2' }
  const access = {
    context: 'forge',
    isDefault: true,
    url: new URL(repository.url).origin,
    username: 'robot',
    password: 'hunter2hunter2',
  }
  try {
    for (const [repo, git] of [
      ['private/code.git', 'CF-default'],
      ['private/code.git', 'forge'],
      [repository.url, undefined],
    ]) {
      const run = await runPipeline(
        cloneAndRun(repo ?? '', git === undefined ? '' : `    git: ${git}`, ['cat file; echo', 'cat .git/config', 'env']),
        { input: { git: [access] } },
      )
      expect(run.output('look')).toContain('secret code\n')
      expect(run.output('look')).not.toContain('hunter2')
    }
    const refused = await runPipeline(cloneAndRun(repository.url, '', ['ls']), {
      input: { git: [{ ...access, password: 'wrong-password' }] },
    })
    expect(refused.snapshot.steps['main_clone']).toMatchObject({ status: 'error', reason: 'clone-failed' })
    expect(refused.snapshot.steps['main_clone']?.message).toContain('"forge"')
    const unknown = await runPipeline(cloneAndRun(repository.url, '    git: nobody', ['ls']), { input: { git: [access] } })
    expect(unknown.snapshot.steps['main_clone']).toMatchObject({ reason: 'integration-missing' })
    const written = await runPipeline(
      cloneAndRun(repository.url, '    credentials: {username: robot, password: "${{PW}}"}', ['cat file']),
      { secrets: { PW: 'hunter2hunter2' } },
    )
    expect(written.output('look')).toBe('secret code')
  } finally {
    server.login = undefined
  }
})

test('uses a proxy only on request (P041)', async () => {
  const repository = await server.create('proxied')
  await repository.commit({ file: 'x' })
  const proxy = { HTTP_PROXY: 'http://127.0.0.1:9' }
  expect((await runPipeline(cloneAndRun(repository.url, '', ['ls']), { variables: proxy })).outcome.status).toBe('success')
  const through = await runPipeline(cloneAndRun(repository.url, '    use_proxy: true', ['ls']), { variables: proxy })
  expect(through.outcome.status).toBe('error')
  expect(through.log('main_clone')).toMatch(/127\.0\.0\.1/)
})

test('distinguishes a missing revision from a missing repository and retries a cut connection', async () => {
  const repository = await server.create('flaky')
  await repository.commit({ file: 'x' })
  const noRevision = await runPipeline(cloneAndRun(repository.url, '    revision: nowhere', ['ls']))
  expect(noRevision.snapshot.steps['main_clone']?.message).toContain('no branch, tag or commit "nowhere"')
  const noRepository = await runPipeline(cloneAndRun(repository.url.replace('flaky', 'nothing'), '', ['ls']))
  expect(noRepository.snapshot.steps['main_clone']?.message).toContain('no repository')
  server.failures = 1
  const retried = await runPipeline(cloneAndRun(repository.url, '', ['cat file']))
  expect(retried.output('look')).toBe('x')
  expect(retried.log('main_clone')).toContain('trying again')
})

test('clones a file URL of this machine in a local run', async () => {
  const repository = await server.create('on-disk')
  await repository.commit({ file: 'from disk' })
  const run = await runPipeline(cloneAndRun(`file://${repository.path}`, '', ['cat file']))
  expect(run.output('look')).toBe('from disk')
})

test('requires a known host and the right key over ssh', async () => {
  const repository = await server.create('over-ssh')
  await repository.commit({ file: 'by ssh' })
  await using ssh = await startSshServer()
  const access = {
    context: 'forge',
    isDefault: true,
    url: ssh.url(''),
    sshPrivateKey: ssh.privateKey,
    sshKnownHosts: ssh.knownHosts,
  }
  const text = cloneAndRun(ssh.url(repository.path), '', ['cat file'])
  const run = await runPipeline(text, { input: { git: [access] } })
  expect(run.output('look')).toBe('by ssh')
  const stranger = await runPipeline(text, { input: { git: [{ ...access, sshKnownHosts: '' }] } })
  expect(stranger.log('main_clone')).toContain('Host key verification failed')
  expect(stranger.snapshot.steps['main_clone']).toMatchObject({ status: 'error', reason: 'clone-failed' })
  const keyless = await runPipeline(text, { input: { git: [{ ...access, sshPrivateKey: undefined }] } })
  expect(keyless.log('main_clone')).toContain('Permission denied')
})

test('handles quotes and braces in a commit message (P129)', async () => {
  const repository = await server.create('quoted')
  await repository.commit({ file: 'x' }, { message: `it's "quoted": {yaml: [no]} # $(id) \`id\`\n\nbody` })
  const run = await runPipeline(cloneAndRun(repository.url, '', [`printf '%s' "$CF_COMMIT_MESSAGE"`]))
  expect(run.output('look')).toBe(`it\\'s \\"quoted\\": {yaml: [no]} # $(id) \`id\`\n\nbody`)
})
