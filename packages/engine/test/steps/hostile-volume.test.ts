/**
 * Tests what a step can plant on the shared volume against the clone of the next build, which has the credentials of the git integration. Each entry
 * plants one thing that git would follow. None may run, lead out of the volume, or expose a credential.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '@windlass/kit'
import { startGitServer, type GitServer } from '../support/git-server.ts'
import { runPipeline, testDocker } from '../support/run-pipeline.ts'

const PASSWORD = 'hunter2hunter2'

/** `$STEAL NAME` creates a program that records what it sees. Commands start in a clone. */
const STEAL = '/codefresh/volume/steal'
const config = (key: string, value: string): string => `git config --file .git/config ${key} ${JSON.stringify(value)}`
const hook = (name: string): string => `mkdir -p .git/hooks && cp ${STEAL} .git/hooks/${name}`

const PLANTED: Readonly<Record<string, readonly string[]>> = {
  fsmonitor: [config('core.fsmonitor', STEAL)],
  'hooks-path': [
    'mkdir -p /codefresh/volume/planted/hooks && cp /codefresh/volume/steal /codefresh/volume/planted/hooks/post-checkout',
    config('core.hooksPath', '/codefresh/volume/planted/hooks'),
  ],
  'post-checkout': [hook('post-checkout')],
  'reference-transaction': [hook('reference-transaction')],
  'post-index-change': [hook('post-index-change')],
  'fsmonitor-watchman': [hook('fsmonitor-watchman'), config('core.fsmonitor', '.git/hooks/fsmonitor-watchman')],
  'ssh-command': [config('core.sshCommand', STEAL), config('url.ssh://x@localhost/.insteadOf', 'http')],
  'git-proxy': [config('core.gitProxy', STEAL)],
  pager: [config('core.pager', STEAL), config('pager.log', STEAL)],
  'ask-pass': [config('core.askPass', STEAL)],
  'credential-helper': [config('credential.helper', `!${STEAL}`)],
  include: [
    `printf '[core]\\n\\tfsmonitor = ${STEAL}\\n' > /codefresh/volume/planted/included`,
    config('include.path', '/codefresh/volume/planted/included'),
  ],
  'include-if': [
    `printf '[core]\\n\\tfsmonitor = ${STEAL}\\n' > /codefresh/volume/planted/included`,
    config('includeIf.gitdir:/.path', '/codefresh/volume/planted/included'),
  ],
  smudge: [
    config('filter.evil.smudge', STEAL),
    config('filter.evil.required', 'true'),
    'mkdir -p .git/info',
    "echo '* filter=evil' > .git/info/attributes",
  ],
  process: [config('filter.evil.process', STEAL), 'mkdir -p .git/info', "echo '* filter=evil' > .git/info/attributes"],
  'attributes-file': [
    config('filter.evil.clean', STEAL),
    "echo '* filter=evil' > /codefresh/volume/planted/attributes",
    config('core.attributesFile', '/codefresh/volume/planted/attributes'),
  ],
  'instead-of': [`printf '[url "ext::${STEAL} "]\n\tinsteadOf = http\n' >> .git/config`, config('protocol.ext.allow', 'always')],
  'upload-pack': [config('remote.origin.uploadpack', STEAL), config('url.file:///codefresh/volume/.insteadOf', 'http')],
  'remote-vcs': [config('remote.origin.vcs', `ext::${STEAL}`)],
  'show-signature': [config('log.showSignature', 'true'), config('gpg.program', STEAL)],
  submodules: [
    config('submodule.x.update', `!${STEAL}`),
    config('fetch.recurseSubmodules', 'true'),
    config('submodule.recurse', 'true'),
  ],
  'work-tree': [config('core.worktree', '/run/windlass')],
  'worktree-config': [
    config('extensions.worktreeConfig', 'true'),
    `git config --file .git/config.worktree core.fsmonitor ${STEAL}`,
  ],
  'common-dir': [
    'mkdir -p /codefresh/volume/planted/common && cp -r .git/. /codefresh/volume/planted/common/',
    `git config --file /codefresh/volume/planted/common/config core.fsmonitor ${STEAL}`,
    'echo /codefresh/volume/planted/common > .git/commondir',
  ],
  'git-file': [
    'mv .git /codefresh/volume/planted/moved',
    `git config --file /codefresh/volume/planted/moved/config core.fsmonitor ${STEAL}`,
    "echo 'gitdir: /codefresh/volume/planted/moved' > .git",
  ],
  'git-link': [
    'mv .git /codefresh/volume/planted/linked',
    `git config --file /codefresh/volume/planted/linked/config core.fsmonitor ${STEAL}`,
    'ln -s /codefresh/volume/planted/linked .git',
  ],
  'objects-link': ['rm -rf .git/objects', 'ln -s /run/windlass .git/objects'],
  'pack-link': ['rm -rf .git/objects/pack', 'ln -s /run/windlass .git/objects/pack'],
  alternates: ['mkdir -p .git/objects/info', 'ln -sf /run/windlass/credentials .git/objects/info/alternates'],
  shallow: ['ln -sf /run/windlass/credentials .git/shallow'],
  'packed-refs': ['ln -sf /run/windlass/credentials .git/packed-refs'],
  head: ['ln -sf /run/windlass/credentials .git/HEAD'],
  refs: ['rm -rf .git/refs/heads', 'ln -s /run/windlass .git/refs/heads'],
  index: ['ln -sf /run/windlass/credentials .git/index'],
  'config-link': ['ln -sf /run/windlass/.gitconfig .git/config'],
  unchanged: ['echo changed > file', 'git update-index --assume-unchanged file'],
  'skip-worktree': ['echo changed > file', 'git update-index --skip-worktree file'],
  replaced: [
    'mkdir -p .git/refs/replace',
    'before=$(git rev-parse HEAD~1) && now=$(git rev-parse HEAD) && echo $before > .git/refs/replace/$now',
  ],
  'planted-tag': ['git tag planted'],
  'new-folder-link': ['ln -s /run/windlass ../code.windlass-new', 'rm -rf .git'],
}

let server: GitServer

beforeAll(async () => {
  server = await startGitServer()
})

afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

const clone = (name: string, url: string, fields = ''): string => `
  ${name}:
    type: git-clone
    repo: ${url}
    working_directory: /codefresh/volume/${name}
    fail_fast: false
${fields}`

test('neither runs planted files of a clone nor exposes credentials in the next clone', async () => {
  const repository = await server.create('private/code')
  await repository.commit({ file: 'first' })
  await repository.commit({ file: 'second' }, { tag: 'v1' })
  server.login = { username: 'robot', password: PASSWORD }
  const volumeName = `windlass-test-${newId(Date.now())}`
  const access = {
    context: 'forge',
    isDefault: true,
    url: `http://${new URL(repository.url).host}`,
    username: 'robot',
    password: PASSWORD,
  }
  const input = { volumeName, git: [access] }
  const names = Object.keys(PLANTED)
  const clones = names.map((name) => clone(name, repository.url)).join('')
  const steal = [
    '#!/bin/sh',
    'mark=$(mktemp /codefresh/volume/stolen-XXXXXX)',
    '{ pwd; echo "$0 $*"; env; cat /run/windlass/*; } > $mark 2>&1',
    'cat',
  ]
  // Copies of one clone: what is tested is the next clone in each place.
  const plant = names.map((name) =>
    [
      `mkdir /codefresh/volume/${name}`,
      `cp -a /codefresh/volume/origin/code /codefresh/volume/${name}/code`,
      `cd /codefresh/volume/${name}/code`,
      ...(PLANTED[name] ?? []),
    ].join(' && '),
  )
  try {
    const first = await runPipeline(
      `
version: '1.0'
steps:${clone('origin', repository.url)}
  plant:
    image: $TOOLS
    commands: ${JSON.stringify([`printf '%s\\n' ${steal.map((line) => `'${line}'`).join(' ')} > ${STEAL}`, `chmod +x ${STEAL}`, 'mkdir /codefresh/volume/planted', ...plant])}
`,
      { input },
    )
    expect(first.outcome, first.log('plant')).toEqual({ status: 'success' })
    const head = await repository.commit({ file: 'third' })
    const look = [
      'cat /codefresh/volume/stolen-* 2>/dev/null || echo nothing stolen',
      ...names.map(
        (name) =>
          `cd /codefresh/volume/${name}/code && echo "${name} $(cat file) $(git rev-parse HEAD) $(git tag | tr '\\n' ' ')$(git status --short)"`,
      ),
    ]
    const second = await runPipeline(
      `
version: '1.0'
steps:${clones}
  look: {image: $TOOLS, working_directory: /codefresh/volume, commands: ${JSON.stringify(look)}}
`,
      { input },
    )
    const lines = second.output('look').trim().split('\n')
    expect(lines.map((line) => line.trim())).toEqual(['nothing stolen', ...names.map((name) => `${name} third ${head} v1`)])
    for (const name of names) {
      expect(second.log(name)).not.toContain('robot')
      expect(second.log(name)).not.toContain(PASSWORD)
    }
  } finally {
    server.login = undefined
    await (await testDocker()).removeVolume(volumeName)
  }
})

test.each([
  ['a link to the memory with the credentials', 'ln -s /run/windlass /codefresh/volume/target'],
  ['a link to another folder of the volume', 'mkdir /codefresh/volume/other && ln -s other /codefresh/volume/target'],
])('rejects a clone into %s', async (_, command) => {
  const repository = await server.create(`linked-${newId(Date.now())}`)
  await repository.commit({ file: 'x' })
  const run = await runPipeline(`
version: '1.0'
steps:
  plant: {image: $SHELL, commands: [${JSON.stringify(command)}]}
${clone('target', repository.url)}
`)
  expect(run.snapshot.steps['target'], run.log('target')).toMatchObject({ status: 'error', reason: 'invalid-step' })
  expect(run.log('target')).toMatch(/The path \/codefresh\/volume\/target\/\S* contains a symbolic link/)
})

test('runs nothing while cloning a repository with hostile attributes, submodules and names', async () => {
  const repository = await server.create('hostile')
  await repository.commit({
    '.gitattributes': '* filter=evil diff=evil merge=evil\n',
    '.gitmodules': `[submodule "x"]\n\tpath = x\n\turl = ext::${STEAL}\n\tupdate = !${STEAL}\n`,
    '-rf': 'x',
    '--upload-pack=touch /codefresh/volume/stolen': 'x',
    '$(touch /codefresh/volume/stolen)': 'x',
    file: 'content',
  })
  const run = await runPipeline(`
version: '1.0'
steps:
${clone('target', repository.url)}
  look: {image: $SHELL, working_directory: /codefresh/volume, commands: ['cat target/hostile/file; echo', 'ls -d stolen* target 2>/dev/null || true']}
`)
  expect(run.output('look')).toBe('content\ntarget\n')
})

test('rejects a revision or repository that git would read as an option', async () => {
  const repository = await server.create('options')
  await repository.commit({ file: 'x' })
  for (const [repo, revision] of [
    [repository.url, '--upload-pack=touch /codefresh/volume/stolen'],
    [repository.url, '-q'],
    ['-oProxyCommand=touch@example.com:x', 'main'],
  ] as const) {
    const run = await runPipeline(`
version: '1.0'
steps:
${clone('target', JSON.stringify(repo), `    revision: ${JSON.stringify(revision)}`)}
`)
    expect(run.snapshot.steps['target']).toMatchObject({ status: 'error', reason: 'invalid-step' })
  }
})
