/** The whole circle on a real forge: `connect git`, pushes of real git, webhooks, builds on Docker, and what the forge shows of them. */
import type { ApiClient } from '@windlass/client'
import type { Delivery } from '@windlass/protocol'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import type { Finished, Sandbox, Up } from '../../packages/cli/test/support.ts'
import type { Gitea, GiteaUser } from '../support/gitea.ts'
import { letGo, UNTIL_LET_GO } from '../support/steps.ts'
import { signIn } from '../codefresh-cli/client.ts'
import { openForgeScene, type ForgeScene } from './forge-scene.ts'
import { cloneAs, type WorkTree } from './work-tree.ts'

let scene: ForgeScene
let sandbox: Sandbox
let up: Up
let forge: Gitea
let ann: GiteaUser
let client: ApiClient
let tree: WorkTree
let connected: Finished

beforeAll(async () => {
  scene = await openForgeScene({ isPrivate: false })
  ;({ sandbox, up, forge, ann, client, tree } = scene)
  await apply()
  connected = await connect()
})

afterAll(() => scene[Symbol.asyncDispose]())

function connect(...words: string[]): Promise<Finished> {
  const line = [
    'connect',
    'git',
    'work',
    '--forge',
    'gitea',
    '--url',
    forge.url,
    '--token-file',
    '-',
    '--repo',
    'ann/app',
    ...words,
  ]
  return sandbox.run(line, { input: `${ann.token}\n` })
}

/** A pipeline whose build clones the commit of its event, and one whose builds continue until the test lets them. */
async function apply(): Promise<void> {
  const image = sandbox.images['SHELL_IMAGE']
  const clone = { type: 'git-clone', repo: '${{CF_REPO_OWNER}}/${{CF_REPO_NAME}}', revision: '${{CF_REVISION}}', git: 'work' }
  const trigger = { type: 'git', repo: 'ann/app', context: 'work' }
  const documents = [
    { version: '1.0', kind: 'project', metadata: { name: 'circle' }, spec: {} },
    {
      version: '1.0',
      kind: 'pipeline',
      metadata: { name: 'circle/app' },
      spec: {
        triggers: [
          { ...trigger, name: 'push', events: ['push.heads'], branchRegex: 'main' },
          {
            ...trigger,
            name: 'pull',
            events: ['pullrequest.opened', 'pullrequest.synchronize'],
            pullRequestAllowForkEvents: true,
          },
          {
            ...trigger,
            name: 'comment',
            events: ['pullrequest.commentAdded'],
            commentRegex: '/^\\/test$/',
            pullRequestAllowForkEvents: true,
          },
        ],
        steps: {
          main_clone: clone,
          show: {
            image,
            working_directory: '${{main_clone}}',
            commands: ['ls', 'echo "commit $CF_REVISION by $CF_COMMIT_AUTHOR"'],
          },
        },
      },
    },
    {
      version: '1.0',
      kind: 'pipeline',
      metadata: { name: 'circle/slow' },
      spec: {
        // The build of the end of a branch ends those of the branch.
        terminationPolicy: [{ type: 'branch', event: 'onCreate', ignoreTrigger: true }],
        triggers: [
          { ...trigger, name: 'push', events: ['push.heads'], branchRegex: '/^slow/' },
          { ...trigger, name: 'end', events: ['push.deleteBranch'], branchRegex: '/^slow/' },
        ],
        steps: { wait: { image, commands: [`if test -n "$CF_REVISION"; then ${UNTIL_LET_GO}; fi`] } },
      },
    },
  ]
  await scene.apply(documents)
}

/** Returns the only build that a delivery started. */
function buildOf({ builds }: Delivery): string {
  expect(builds).toHaveLength(1)
  return builds[0] ?? ''
}

const Hooks = z.array(
  z.object({
    id: z.int(),
    active: z.boolean(),
    events: z.array(z.string()).transform((names) => names.toSorted()),
    config: z.object({ url: z.string() }),
  }),
)
const hooks = async (): Promise<z.infer<typeof Hooks>> => Hooks.parse(await ann.api('GET', '/repos/ann/app/hooks'))

test('connect git makes the context and the webhook, and a second run keeps both', async () => {
  expect(connected).toMatchObject({ code: 0 })
  expect(connected.stdout).toMatch(
    /^context\/work created\nwebhook\/work\/ann\/app created\nwebhook of ann\/app at \S+ created\n$/,
  )
  expect(connected.stdout + connected.stderr).not.toContain(ann.token)
  const [made, ...others] = await hooks()
  expect(others).toEqual([])
  expect(made).toMatchObject({ active: true, config: { url: (await client.webhooks.get('work/ann/app')).url } })
  await ann.api('PATCH', `/repos/ann/app/hooks/${made?.id}`, { active: false, events: ['fork'] })
  expect((await connect()).stdout).toMatch(
    /^context\/work updated\nwebhook\/work\/ann\/app unchanged\nwebhook of ann\/app at \S+ updated\n$/,
  )
  expect(await hooks()).toEqual([made])
  expect((await connect('--new-secret')).stdout).toContain('webhook/work/ann/app replaced\n')
  expect(await hooks()).toHaveLength(1)
})

test('check context asks the forge whose token it is, and says when the forge refuses it (E31)', async () => {
  const check = (name: string): Promise<Finished> => sandbox.run(['check', 'context', name])
  const own = await check('work')
  expect([own.code, own.stdout], own.stderr).toEqual([0, expect.stringContaining('takes the login for ann.')])
  const data = { url: forge.url, username: 'ann' }
  await client.contexts.put('wrong', { name: 'wrong', type: 'git', data: { ...data, password: 'f'.repeat(40) } })
  const wrong = await check('wrong')
  expect([wrong.code, wrong.stdout], wrong.stderr).toEqual([1, expect.stringContaining('refused (unauthorized)')])
  await client.contexts.put('wrong', { name: 'wrong', type: 'git', data: { ...data, password: ann.password } })
  const password = await check('wrong')
  expect([password.code, password.stdout], password.stderr).toEqual([0, expect.stringContaining('need an access token')])
  await client.contexts.delete('wrong')
  expect(own.stdout + wrong.stdout + password.stdout).not.toMatch(new RegExp(`${ann.token}|${ann.password}|ffff`))
})

test('the public command line adds a repository that the forge has, and refuses another one (F046)', async () => {
  await using codefresh = await signIn(sandbox, up)
  const added = await codefresh.must('add', 'repo', 'ann/app', '--context', 'work')
  expect(added).toContain('Found repository "app" at context "work"')
  expect(added).toContain('Repository added: ann/app')
  // The only Git context is the default.
  expect(await codefresh.must('add', 'repo', 'ann/app')).toContain('at context "work"')
  expect(await codefresh.run('add', 'repo', 'ann/gone', '-c', 'work')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('The repository ann/gone cannot be read with the Git context'),
  })
})

test('a push of real git builds its commit, which the step clones with the token of the context (P141)', async () => {
  await ann.api('PATCH', '/repos/ann/app', { private: true })
  const commit = await tree.push('main', 'pushed.txt', 'Say "hello"')
  const delivery = await scene.delivered(({ revision }) => revision === commit)
  expect(delivery).toMatchObject({ webhook: 'work/ann/app', event: 'push', repo: 'ann/app', branch: 'main' })
  const build = await scene.ended(buildOf(delivery))
  expect(build).toMatchObject({ status: 'success', branch: 'main', revision: commit, initiator: 'ann' })
  const log = (await sandbox.run(['logs', build.id, '--step', 'show'])).stdout
  expect(log).toContain('pushed.txt\n')
  expect(log).toContain(`commit ${commit} by ann\n`)
  await ann.api('PATCH', '/repos/ann/app', { private: false })
})

const Statuses = z.array(z.object({ status: z.string(), context: z.string(), target_url: z.string() }))

test('the commit shows the state of its build at the forge, from the start to the end (P151)', async () => {
  const commit = await tree.push('slow-status', 'status.txt')
  const build = buildOf(await scene.delivered(({ revision }) => revision === commit))
  const states = async (): Promise<string[]> => {
    const shown = Statuses.parse(await ann.api('GET', `/repos/ann/app/commits/${commit}/statuses?sort=oldest`))
    expect(shown.filter(({ context, target_url: url }) => context !== 'circle/slow' || !url.includes(build))).toEqual([])
    return shown.map(({ status }) => status)
  }
  await expect.poll(states).toEqual(['pending'])
  await letGo(build)
  expect(await scene.ended(build)).toMatchObject({ status: 'success' })
  await expect.poll(states).toEqual(['pending', 'success'])
})

test('a push to a branch that no trigger wants builds nothing, and the delivery says why', async () => {
  const commit = await tree.push('other', 'other.txt')
  const delivery = await scene.delivered(({ revision }) => revision === commit)
  expect(delivery).toMatchObject({
    builds: [],
    triggers: expect.arrayContaining([expect.objectContaining({ reason: 'branch' })]),
  })
})

test('a pull request builds, and a comment of the owner builds it again (P143)', async () => {
  const commit = await tree.push('feature', 'feature.txt')
  const made = await ann.api('POST', '/repos/ann/app/pulls', { head: 'feature', base: 'main', title: 'A feature' })
  const { number } = z.object({ number: z.int() }).parse(made)
  const opened = await scene.delivered(({ event, revision }) => event === 'pull_request' && revision === commit)
  expect(await scene.ended(buildOf(opened))).toMatchObject({ status: 'success', branch: 'feature', trigger: { name: 'pull' } })
  await ann.api('POST', `/repos/ann/app/issues/${number}/comments`, { body: 'looks good' })
  const talk = await scene.delivered(({ event, reason }) => event === 'issue_comment' && reason !== undefined)
  expect(talk.triggers).toContainEqual(expect.objectContaining({ trigger: 'comment', reason: 'comment' }))
  await ann.api('POST', `/repos/ann/app/issues/${number}/comments`, { body: '/test' })
  const asked = await scene.delivered(({ event, builds }) => event === 'issue_comment' && builds.length > 0)
  const build = await scene.ended(buildOf(asked))
  expect(build).toMatchObject({ status: 'success', revision: commit, trigger: { name: 'comment' } })
})

test('the commit of an image and its pull request are read from the forge, and stand at the image', async () => {
  const opened = z.array(z.object({ number: z.int() })).parse(await ann.api('GET', '/repos/ann/app/pulls?state=open'))
  const number = opened[0]?.number ?? 0
  // The forge checks first whether it can merge.
  const merge = () => ann.api('POST', `/repos/ann/app/pulls/${number}/merge`, { Do: 'merge' }).then(() => 'merged', String)
  await expect.poll(merge).toBe('merged')
  // Later tests push on top of it.
  await tree.git('pull', '--quiet', '--ff-only', 'origin', 'main')
  const digest = `sha256:${'a'.repeat(64)}`
  const tokenFile = await sandbox.file('git-token', ann.token)
  const place = [
    '--provider',
    'gitea',
    '--url',
    forge.url,
    '--git-token-file',
    tokenFile,
    '--git-repo',
    `${forge.url}/ann/app.git`,
  ]
  const read = (branch: string) =>
    sandbox.call(['gitops', 'image', 'git-info', `registry.test/app@${digest}`, ...place, '--git-branch', branch], {
      env: { WINDLASS_URL: up.url, WINDLASS_API_KEY: up.adminKey },
    })
  expect(await read('nowhere')).toMatchObject({ code: 3, stderr: expect.stringContaining('"nowhere"') })
  expect(await read('main')).toMatchObject({ code: 0 })
  const { items } = await client.imageReports.list({ query: { image: 'registry.test/app' } })
  expect(items).toEqual([
    expect.objectContaining({
      git: expect.objectContaining({
        branch: 'main',
        commit: expect.stringMatching(/^[0-9a-f]{40}$/),
        message: expect.stringContaining('feature'),
        pull: expect.objectContaining({ number, title: 'A feature', state: 'merged' }),
      }),
    }),
  ])
})

test('a pull request from a fork of a stranger waits until a user approves its commit (P146)', async () => {
  const bob = await forge.addUser('bob')
  await bob.api('POST', '/repos/ann/app/forks', {})
  await using fork = await cloneAs(bob, `${forge.url}/bob/app.git`)
  const commit = await fork.push('stranger', 'stranger.txt')
  await bob.api('POST', '/repos/ann/app/pulls', { head: 'bob:stranger', base: 'main', title: 'From a fork' })
  const id = buildOf(await scene.delivered(({ event, revision }) => event === 'pull_request' && revision === commit))
  expect(await client.builds.get(id)).toMatchObject({ status: 'pending-approval', reason: 'fork-approval', revision: commit })
  expect(await sandbox.run(['approve', id])).toMatchObject({ code: 0 })
  expect(await scene.ended(id)).toMatchObject({ status: 'success', trigger: { name: 'pull' } })
  expect((await sandbox.run(['logs', id, '--step', 'show'])).stdout).toContain('stranger.txt\n')
})

test('the end of a branch terminates its builds (P155)', async () => {
  const commit = await tree.push('slow-one', 'slow.txt')
  const running = buildOf(await scene.delivered(({ revision, branch }) => revision === commit && branch === 'slow-one'))
  await expect.poll(async () => (await client.builds.get(running)).status).toBe('running')
  await tree.git('push', '--quiet', 'origin', '--delete', 'slow-one')
  const end = await scene.delivered(({ event }) => event === 'delete')
  expect(await scene.ended(buildOf(end))).toMatchObject({ status: 'success', branch: 'slow-one' })
  expect(await scene.ended(running)).toMatchObject({ status: 'terminated', reason: 'superseded' })
})

test('a branch that begins and ends again ends its builds again', async () => {
  const commit = await tree.push('slow-one', 'slower.txt')
  const running = buildOf(await scene.delivered(({ revision, branch }) => revision === commit && branch === 'slow-one'))
  const before = (await client.deliveries.list()).items.filter(({ event }) => event === 'delete').map(({ id }) => id)
  await tree.git('push', '--quiet', 'origin', '--delete', 'slow-one')
  await scene.delivered(({ event, id }) => event === 'delete' && !before.includes(id))
  expect(await scene.ended(running)).toMatchObject({ status: 'terminated', reason: 'superseded' })
})

test('events that come while the server is away build after the forge sends them again', async () => {
  await up.kill9()
  const commit = await tree.push('main', 'away.txt')
  await up.startAgain()
  const [hook] = await hooks()
  // Gitea sends the event of an earlier push as a test.
  await ann.api('POST', `/repos/ann/app/hooks/${hook?.id}/tests`)
  expect(await scene.ended(buildOf(await scene.delivered(({ revision }) => revision === commit)))).toMatchObject({
    status: 'success',
  })
})
