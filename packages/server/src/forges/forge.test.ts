import { createHmac } from 'node:crypto'
import { EVENT_NAMES, FORGES, type EventName, type Forge } from '@windlass/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import * as payloads from '../../test/support/payloads/payloads.ts'
import { isEvent, isIgnored, type ForgeEvent, type Headers } from './event.ts'
import { FORGE_READERS, isForge } from './forge.ts'

const { COMMIT, BEFORE, NO_COMMIT } = payloads

function parse(forge: Forge, event: string, body: unknown): ForgeEvent[] {
  const reader = FORGE_READERS[forge]
  return reader.parse(reader.headersFor(event), body).filter(isEvent)
}

function only(forge: Forge, event: string, body: unknown): ForgeEvent {
  const [found, ...more] = parse(forge, event, body)
  if (found === undefined || more.length > 0) throw new Error(`expected one event, got ${more.length + (found ? 1 : 0)}`)
  return found
}

const { githubPush, githubPull, githubReview, githubComment, githubRelease } = payloads
const { giteaDelete } = payloads
const { gitlabPush, gitlabMergeRequest, gitlabNote, gitlabRelease } = payloads
const { bitbucketPush, bitbucketPull, serverPush, serverPull, azurePush, azurePull, azureComment } = payloads

const tag = { ref: 'refs/tags/v1.0.0', before: NO_COMMIT }
const labels = (previous: number, current: number): Readonly<Record<string, unknown>> => ({
  changes: { labels: { previous: Array(previous).fill({}), current: Array(current).fill({}) } },
})

/** Forge, event in the header, body, and the names that the event must have. */
const CASES: readonly (readonly [Forge, string, unknown, readonly EventName[]])[] = [
  ['github', 'push', githubPush(), ['push.heads', 'push']],
  ['github', 'push', githubPush(tag), ['push.tags', 'push']],
  ['github', 'push', githubPush({ before: NO_COMMIT }), ['push.newBranch', 'push.heads', 'push']],
  ['github', 'push', githubPush({ after: NO_COMMIT, head_commit: null }), ['push.deleteBranch']],
  ['github', 'pull_request', githubPull('opened'), ['pullrequest.opened', 'pullrequest']],
  ['github', 'pull_request', githubPull('closed', { merged: true }), ['pullrequest.merged', 'pullrequest.closed', 'pullrequest']],
  ['github', 'pull_request', githubPull('closed', { merged: false }), ['pullrequest.unmerged-closed', 'pullrequest.closed']],
  ['github', 'pull_request', githubPull('reopened'), ['pullrequest.reopened']],
  ['github', 'pull_request', githubPull('edited'), ['pullrequest.edited']],
  ['github', 'pull_request', githubPull('assigned'), ['pullrequest.assigned']],
  ['github', 'pull_request', githubPull('unassigned'), ['pullrequest.unassigned']],
  [
    'github',
    'pull_request',
    githubPull('review_requested'),
    ['pullrequest.review_requested', 'pullrequest.reviewRequested', 'pullrequest'],
  ],
  [
    'github',
    'pull_request',
    githubPull('review_request_removed'),
    ['pullrequest.review_request_removed', 'pullrequest.reviewRequestRemoved'],
  ],
  ['github', 'pull_request', githubPull('labeled'), ['pullrequest.labeled']],
  ['github', 'pull_request', githubPull('unlabeled'), ['pullrequest.unlabeled']],
  ['github', 'pull_request', githubPull('synchronize'), ['pullrequest.synchronize', 'pullrequest.pushCommit', 'pullrequest']],
  ['github', 'pull_request_review', githubReview('approved'), ['pullrequest.review.submitted.approved']],
  ['github', 'pull_request_review', githubReview('commented'), ['pullrequest.review.submitted.commented']],
  ['github', 'pull_request_review', githubReview('changes_requested'), ['pullrequest.review.submitted.changes_requested']],
  [
    'github',
    'issue_comment',
    githubComment('/test', 'OWNER'),
    ['pullrequest.commentAdded', 'pullrequest.commentAddedUnrestricted'],
  ],
  ['github', 'release', githubRelease('published'), ['release']],
  ['github', 'release', githubRelease('unpublished'), ['release.unpublished']],
  ['github', 'release', githubRelease('created'), ['release.created']],
  ['github', 'release', githubRelease('edited'), ['release.edited']],
  ['github', 'release', githubRelease('deleted'), ['release.deleted']],
  ['github', 'release', githubRelease('prereleased'), ['release.prereleased']],
  ['github', 'release', githubRelease('released'), ['release.released']],
  ['gitea', 'push', githubPush(), ['push.heads', 'push']],
  ['gitea', 'pull_request', githubPull('opened'), ['pullrequest.opened', 'pullrequest']],
  ['gitea', 'pull_request_sync', githubPull('synchronized'), ['pullrequest.synchronize', 'pullrequest.pushCommit']],
  ['gitea', 'pull_request_label', githubPull('label_updated'), ['pullrequest.labeled']],
  ['gitea', 'pull_request_comment', { ...githubComment('/test', 'NONE'), is_pull: true }, ['pullrequest.commentAdded']],
  ['gitea', 'delete', giteaDelete(), ['push.deleteBranch']],
  ['gitlab', 'Push Hook', gitlabPush(), ['push.heads', 'push']],
  ['gitlab', 'Tag Push Hook', gitlabPush({ object_kind: 'tag_push', ...tag }), ['push.tags', 'push']],
  ['gitlab', 'Push Hook', gitlabPush({ before: NO_COMMIT }), ['push.newBranch', 'push.heads']],
  ['gitlab', 'Push Hook', gitlabPush({ after: NO_COMMIT, checkout_sha: null }), ['push.deleteBranch']],
  ['gitlab', 'Merge Request Hook', gitlabMergeRequest('open'), ['pullrequest.opened', 'pullrequest']],
  ['gitlab', 'Merge Request Hook', gitlabMergeRequest('close'), ['pullrequest.unmerged-closed', 'pullrequest.closed']],
  ['gitlab', 'Merge Request Hook', gitlabMergeRequest('reopen'), ['pullrequest.reopened']],
  ['gitlab', 'Merge Request Hook', gitlabMergeRequest('merge'), ['pullrequest.merged', 'pullrequest.closed']],
  ['gitlab', 'Merge Request Hook', gitlabMergeRequest('approved'), ['pullrequest.review.submitted.approved']],
  ['gitlab', 'Merge Request Hook', gitlabMergeRequest('update', { oldrev: BEFORE }), ['pullrequest.pushCommit']],
  ['gitlab', 'Merge Request Hook', gitlabMergeRequest('update'), ['pullrequest.edited', 'pullrequest']],
  ['gitlab', 'Merge Request Hook', gitlabMergeRequest('update', {}, labels(1, 2)), ['pullrequest.labeled']],
  ['gitlab', 'Merge Request Hook', gitlabMergeRequest('update', {}, labels(2, 1)), ['pullrequest.unlabeled']],
  ['gitlab', 'Note Hook', gitlabNote('/test'), ['pullrequest.commentAdded', 'pullrequest.commentAddedUnrestricted']],
  ['gitlab', 'Release Hook', gitlabRelease('create'), ['release.created', 'release']],
  ['bitbucket', 'repo:push', bitbucketPush(), ['push.heads', 'push']],
  ['bitbucket', 'repo:push', bitbucketPush({ old: null }), ['push.newBranch', 'push.heads', 'push']],
  ['bitbucket', 'repo:push', bitbucketPush({ new: null }), ['push.deleteBranch']],
  ['bitbucket', 'pullrequest:created', bitbucketPull(), ['pullrequest:created', 'pullrequest.opened', 'pullrequest']],
  ['bitbucket', 'pullrequest:updated', bitbucketPull(), ['pullrequest:updated']],
  ['bitbucket', 'pullrequest:approved', bitbucketPull(), ['pullrequest:approved']],
  ['bitbucket', 'pullrequest:unapproved', bitbucketPull(), ['pullrequest:unapproved']],
  ['bitbucket', 'pullrequest:changes_request_created', bitbucketPull(), ['pullrequest:needsWork']],
  ['bitbucket', 'pullrequest:fulfilled', bitbucketPull(), ['pullrequest:fulfilled', 'pullrequest:merged', 'pullrequest.merged']],
  ['bitbucket', 'pullrequest:rejected', bitbucketPull(), ['pullrequest:rejected', 'pullrequest:declined']],
  ['bitbucket', 'pullrequest:comment_created', bitbucketPull(), ['pullrequest:comment_created', 'pullrequest.commentAdded']],
  ['bitbucket', 'pullrequest:comment_updated', bitbucketPull(), ['pullrequest:comment_updated']],
  ['bitbucket', 'pullrequest:comment_deleted', bitbucketPull(), ['pullrequest:comment_deleted']],
  ['bitbucket-server', 'repo:refs_changed', serverPush(), ['push.heads', 'push']],
  ['bitbucket-server', 'repo:refs_changed', serverPush({ toHash: NO_COMMIT, type: 'DELETE' }), ['push.deleteBranch']],
  ['bitbucket-server', 'pr:opened', serverPull(), ['pullrequest:created', 'pullrequest.opened', 'pullrequest']],
  ['bitbucket-server', 'pr:modified', serverPull(), ['pullrequest:updatedButNoPush', 'pullrequest:updated']],
  ['bitbucket-server', 'pr:from_ref_updated', serverPull(), ['pullrequest:push_commit', 'pullrequest.synchronize']],
  ['bitbucket-server', 'pr:merged', serverPull(), ['pullrequest:merged', 'pullrequest.closed']],
  ['bitbucket-server', 'pr:declined', serverPull(), ['pullrequest:declined', 'pullrequest:rejected']],
  ['bitbucket-server', 'pr:deleted', serverPull(), ['pullrequest:deleted']],
  ['bitbucket-server', 'pr:reviewer:approved', serverPull(), ['pullrequest:approved']],
  ['bitbucket-server', 'pr:reviewer:unapproved', serverPull(), ['pullrequest:unapproved']],
  ['bitbucket-server', 'pr:reviewer:needs_work', serverPull(), ['pullrequest:needsWork']],
  ['bitbucket-server', 'pr:comment:added', serverPull(), ['pullrequest:comment_created', 'pullrequest.commentAdded']],
  ['bitbucket-server', 'pr:comment:edited', serverPull(), ['pullrequest:comment_updated']],
  ['bitbucket-server', 'pr:comment:deleted', serverPull(), ['pullrequest:comment_deleted']],
  ['azure', '', azurePush(), ['push.heads', 'push']],
  ['azure', '', azurePush({ newObjectId: NO_COMMIT }), ['push.deleteBranch']],
  ['azure', '', azurePull('created'), ['pullrequest.created', 'pullrequest.opened', 'pullrequest']],
  ['azure', '', azurePull('merged', '', { status: 'completed' }), ['pullrequest.merged', 'pullrequest.closed', 'pullrequest']],
  ['azure', '', azurePull('updated', 'Bob changed the reviewer list'), ['pullrequest.reviewersUpdate', 'pullrequest.updated']],
  ['azure', '', azurePull('updated', 'Bob updated the source branch'), ['pullrequest.synchronize', 'pullrequest.updated']],
  ['azure', '', azurePull('updated', 'Bob approved pull request 7'), ['pullrequest.reviewerVote', 'pullrequest.updated']],
  ['azure', '', azurePull('updated', 'Bob marked the pull request as a draft'), ['pullrequest.statusUpdate']],
  ['azure', '', azureComment('/test'), ['pullrequest.commentAdded', 'pullrequest.commentAddedUnrestricted']],
]

test.each(CASES.map((one, index) => [`${one[0]} ${one[1]} ${one[3][0]} (${index})`, one] as const))(
  '%s: has the names of the event (P142)',
  (_title, [forge, event, body, names]) => {
    expect(only(forge, event, body).names).toEqual(expect.arrayContaining([...names]))
    expect(only(forge, event, body).names[0]).toBe(names[0])
  },
)

test('every event that a trigger can name is an event of a forge, except those of Gerrit (P142)', () => {
  const seen = new Set(CASES.flatMap(([forge, event, body]) => [...only(forge, event, body).names]))
  const gerrit = EVENT_NAMES.filter((name) => !/^(push|pullrequest|release)/.test(name))
  expect(EVENT_NAMES.filter((name) => !seen.has(name))).toEqual(gerrit)
})

test('reads the facts of a push, and its changed files (P141)', () => {
  expect(only('github', 'push', githubPush())).toMatchObject({
    repo: 'Acme/app',
    branch: 'main',
    revision: COMMIT,
    occurrence: BEFORE,
    sender: 'ann',
    files: ['src/new.ts', 'README.md'],
    git: { repoOwner: 'Acme', repoName: 'app', commitMessage: 'Fix "it"', commitAuthor: 'ann' },
  })
  expect(only('gitlab', 'Push Hook', gitlabPush())).toMatchObject({
    repo: 'acme/team/app',
    files: ['a.md'],
    git: { repoOwner: 'acme/team', repoName: 'app', commitAuthor: 'Ann' },
  })
  expect(only('azure', '', azurePush())).toMatchObject({ repo: 'acme/app', files: 'unknown', sender: 'ann@example.test' })
  expect(only('bitbucket-server', 'repo:refs_changed', serverPush())).toMatchObject({ repo: 'ACME/app', branch: 'main' })
})

test('users of Bitbucket Cloud are named by ids, because they choose their names freely', () => {
  const { CLOUD_USER: user } = payloads
  const { account_id: _id, ...bot } = user
  const { uuid: _uuid, ...nameless } = bot
  const comment = (of: object): unknown => ({ id: 1, user: of, content: { raw: '/test' } })
  const read = (of: object): ForgeEvent =>
    only('bitbucket', 'pullrequest:comment_created', bitbucketPull({ actor: of, comment: comment(of) }))
  expect(only('bitbucket', 'repo:push', bitbucketPush()).sender).toBe('557058:c0ffee')
  expect(read(user)).toMatchObject({
    sender: '557058:c0ffee',
    comment: { author: '557058:c0ffee' },
    git: { commitAuthor: 'bob', pullRequest: { commentAuthor: '557058:c0ffee' } },
  })
  expect(read(bot)).toMatchObject({ sender: '{5f}', comment: { author: '{5f}' } })
  expect(read(nameless).sender).toBeUndefined()
})

test('the files of a push are unknown if the body does not name all of them', () => {
  const files = (more: object): unknown => only('github', 'push', githubPush({ ...more })).files
  expect(files({ forced: true })).toBe('unknown')
  expect(files({ commits: [] })).toBe('unknown')
  expect(files({ total_commits: 2 })).toBe('unknown')
  expect(files({ commits: [{ id: COMMIT }] })).toBe('unknown')
  expect(files({ before: NO_COMMIT })).toBe('all')
  expect(only('gitlab', 'Push Hook', gitlabPush({ total_commits_count: 21 })).files).toBe('unknown')
})

test('reads the end of a branch at Gitea, and tells two ends of one name apart by their deliveries', () => {
  const read = (delivery: string, more: object = {}): unknown =>
    FORGE_READERS.gitea.parse({ 'x-gitea-event': 'delete', 'x-gitea-delivery': delivery }, giteaDelete({ ...more }))[0]
  expect(read('one')).toEqual({
    names: ['push.deleteBranch'],
    repo: 'Acme/app',
    branch: 'feature/x',
    sender: 'ann',
    occurrence: 'one',
    files: 'unknown',
    git: { repoOwner: 'Acme', repoName: 'app' },
  })
  expect(read('two')).toMatchObject({ occurrence: 'two' })
  expect(read('three', { ref_type: 'tag' })).toMatchObject({ reason: 'event-unsupported' })
  expect(read('four', { repository: null })).toMatchObject({ reason: 'payload-invalid' })
})

test('reads the facts of a pull request and of a release', () => {
  expect(only('github', 'pull_request', githubPull('closed', { merged: true, state: 'closed' })).git).toEqual({
    repoOwner: 'Acme',
    repoName: 'app',
    commitAuthor: 'bob',
    commitUrl: 'https://github.test/Acme/app/pull/7',
    pullRequest: {
      action: 'closed',
      id: '900',
      number: '7',
      target: 'main',
      headBranch: 'feature/x',
      headCommit: COMMIT,
      labels: 'bug,ci',
      title: "Add 'x'",
      merged: true,
      mergedCommit: BEFORE,
    },
  })
  expect(only('github', 'release', githubRelease('published')).git.release).toEqual({
    name: 'One',
    tag: 'v1.0.0',
    id: '5',
    isPrerelease: false,
  })
  expect(only('github', 'issue_comment', githubComment('/test', 'OWNER'))).toMatchObject({
    revision: 'refs/pull/7/head',
    comment: { text: '/test', author: 'bob', authorMayWrite: true },
    pullRequest: { isFork: undefined },
    git: { pullRequest: { number: '7', comment: '/test', commentAuthor: 'bob' } },
  })
})

test('tells pull requests from forks apart, and who may write (P146)', () => {
  const github = (options: payloads.PullOptions): unknown =>
    only('github', 'pull_request', githubPull('opened', options)).pullRequest
  expect(github({})).toEqual({ isFork: false, authorMayWrite: undefined })
  expect(github({ fork: true, association: 'CONTRIBUTOR' })).toEqual({ isFork: true, authorMayWrite: false })
  expect(github({ fork: true, association: 'COLLABORATOR' })).toEqual({ isFork: true, authorMayWrite: true })
  const gone = githubPull('opened')
  Object.assign((gone['pull_request'] as { head: object }).head, { repo: null })
  expect(only('github', 'pull_request', gone).pullRequest?.isFork).toBe(true)
  expect(only('gitlab', '', gitlabMergeRequest('open', { source_project_id: 2 })).pullRequest?.isFork).toBe(true)
  expect(only('azure', '', azurePull('created', '', { forkSource: {} })).pullRequest?.isFork).toBe(true)
})

test('names the commit that a change is compared with, and tells a start apart in the same way for all forges', () => {
  const pushes = [
    only('github', 'push', githubPush()),
    only('gitlab', '', gitlabPush()),
    only('bitbucket', 'repo:push', bitbucketPush()),
    only('bitbucket-server', 'repo:refs_changed', serverPush()),
    only('azure', '', azurePush()),
  ]
  for (const { base, occurrence } of pushes) expect([base, occurrence]).toEqual([BEFORE, BEFORE])
  const starts = [
    only('github', 'push', githubPush({ before: NO_COMMIT })),
    only('bitbucket', 'repo:push', bitbucketPush({ old: null })),
    only('bitbucket-server', 'repo:refs_changed', serverPush({ fromHash: NO_COMMIT })),
  ]
  for (const { base, occurrence } of starts) expect([base, occurrence]).toEqual([undefined, ''])
  const { pullrequest } = bitbucketPull() as { pullrequest: { destination: object } }
  const destination = { ...pullrequest.destination, commit: { hash: 'b2b2b2b2b2b2' } }
  const pull = bitbucketPull({ pullrequest: { ...pullrequest, destination } })
  expect(only('bitbucket', 'pullrequest:created', pull).base).toBe('b2b2b2b2b2b2')
  const merge = { lastMergeTargetCommit: { commitId: BEFORE } }
  expect(only('azure', '', azurePull('created', '', merge)).base).toBe(BEFORE)
})

test('reads every branch of a push to several branches', () => {
  const [change] = (bitbucketPush()['push'] as { changes: object[] }).changes
  const body = {
    ...bitbucketPush(),
    push: { changes: [change, { ...change, new: { type: 'tag', name: 'v1', target: { hash: COMMIT } } }] },
  }
  expect(parse('bitbucket', 'repo:push', body).map(({ branch, names }) => [branch, names[0]])).toEqual([
    ['main', 'push.heads'],
    ['v1', 'push.tags'],
  ])
})

const SECRET = 'a secret of the webhook'
const hmac = (text: string): string => createHmac('sha256', SECRET).update(text).digest('hex')

const SIGNED: Readonly<Record<Forge, (text: string) => Headers>> = {
  github: (text) => ({ 'x-hub-signature-256': `sha256=${hmac(text)}` }),
  gitea: (text) => ({ 'x-gitea-signature': hmac(text) }),
  bitbucket: (text) => ({ 'x-hub-signature': `sha256=${hmac(text)}` }),
  'bitbucket-server': (text) => ({ 'x-hub-signature': `sha256=${hmac(text)}` }),
  gitlab: () => ({ 'x-gitlab-token': SECRET }),
  azure: () => ({ 'x-windlass-token': SECRET }),
}

test.each(FORGES)('%s: accepts only calls with the secret of the webhook', (forge) => {
  const body = Buffer.from('{"a":1}')
  const { verify } = FORGE_READERS[forge]
  const headers = SIGNED[forge](body.toString())
  expect(verify({ headers, body, secret: SECRET })).toBe(true)
  expect(verify({ headers, body, secret: `${SECRET}.` })).toBe(false)
  expect(verify({ headers: {}, body, secret: SECRET })).toBe(false)
  const [name = '', value = ''] = Object.entries(headers)[0] ?? []
  for (const wrong of ['', 'sha256=', value.slice(0, -1), `${value}0`, `sha1=${value}`])
    expect(verify({ headers: { [name]: wrong }, body, secret: SECRET })).toBe(false)
  if (forge !== 'gitlab' && forge !== 'azure')
    expect(verify({ headers, body: Buffer.from('{"a":2}'), secret: SECRET })).toBe(false)
})

test.each(FORGES)('%s: ignores bodies of any shape without an error', (forge) => {
  const reader = FORGE_READERS[forge]
  const events = ['push', 'pull_request', 'issue_comment', 'release', 'repo:push', 'pr:opened', 'repo:refs_changed', 'ping']
  const bodies = [
    null,
    5,
    'x',
    [],
    {},
    { repository: 5 },
    { repository: { full_name: 'a/b' } },
    JSON.parse('{"__proto__": {"a": 1}}'),
  ]
  for (const event of events)
    for (const body of bodies) for (const one of reader.parse(reader.headersFor(event), body)) expect(isIgnored(one)).toBe(true)
})

test.each(FORGES)('%s: reads any JSON without an error', (forge) => {
  const reader = FORGE_READERS[forge]
  const names = CASES.filter(([name]) => name === forge)
  const keys = [
    'action',
    'repository',
    'full_name',
    'pull_request',
    'head',
    'repo',
    'push',
    'changes',
    'resource',
    'ref',
    'commits',
  ]
  const key = fc.oneof(fc.constantFrom(...keys), fc.string())
  const { json } = fc.letrec((tie) => ({
    json: fc.oneof({ maxDepth: 4 }, fc.constantFrom('push', 'a/b', 'refs/heads/x', null, true, 7), tie('list'), tie('map')),
    list: fc.array(tie('json'), { maxLength: 3 }),
    map: fc.dictionary(key, tie('json'), { maxKeys: 6 }),
  }))
  const body = fc.oneof(
    json,
    // A valid body with one field replaced.
    fc.tuple(fc.constantFrom(...names), fc.string(), json).map(([[, , valid], name, value]) => {
      const fields = Object.keys(valid as object)
      return { ...(valid as object), [fields[name.length % fields.length] ?? '']: value }
    }),
  )
  fc.assert(
    fc.property(fc.constantFrom(...names), body, ([, event], value) => {
      for (const one of reader.parse(reader.headersFor(event), value)) expect(one).toBeTypeOf('object')
      reader.deliveryId({}, value)
      reader.eventName({}, value)
    }),
    { numRuns: 300 },
  )
})

test('knows the names of forges in documents', () => {
  expect([isForge('stash', 'bitbucket-server'), isForge('GitHub', 'github'), isForge('forgejo', 'gitea')]).toEqual([
    true,
    true,
    true,
  ])
  expect([isForge('gerrit', 'github'), isForge('gitlab', 'github')]).toEqual([false, false])
})
