/** What is said about a build, for all channels. Texts are bounded and without control characters; secret values are masked since the engine reported them. */
import { REASONS } from '@windlass/plan'
import type { Build, BuildStep, NoticeDocument, NoticeType } from '@windlass/protocol'
import type { App } from '../app.ts'
import { buildUrl } from '../builds/create/build-url.ts'
import { toFullBuild, present } from '../builds/lifecycle/view.ts'
import { START } from '../store/builds/approvals.ts'
import type { BuildRow, NotificationRow } from '../store/schema/schema.ts'
import type { Happening } from './rule.ts'

export interface Notice {
  readonly type: NoticeType
  /** When it happened. */
  readonly at: number
  /** Name of the notification that reports it. */
  readonly notification: string
  /** One line: which build, and what happened to it. */
  readonly title: string
  /** One line: branch, commit, who started it. */
  readonly about: string
  /** What failed and why, or what waits for whom. */
  readonly details: readonly string[]
  readonly url: string
  readonly build?: NonNullable<NoticeDocument['data']['build']>
  readonly step?: NonNullable<NoticeDocument['data']['step']>
}

/** Longest detail and longest name in a text. Characters. */
const MAX_DETAIL = 1000
const MAX_NAME = 200

const ENDINGS: Readonly<Record<Happening['type'], string>> = {
  'build.failed': 'failed',
  'build.recovered': 'succeeded again',
  'build.succeeded': 'succeeded',
  'build.terminated': 'was terminated',
  'build.waiting': 'waits for an approval',
}

/** Returns the text on one line, without characters that change how it is shown, and cut to `max` characters. */
export function oneLine(text: string, max: number): string {
  const line = text.replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, ' ').trim()
  return line.length <= max ? line : `${line.slice(0, max - 1).replace(/[\uD800-\uDBFF]$/, '')}…`
}

/** Describes what happened to a build. */
export async function composeNotice(
  app: App,
  row: BuildRow,
  { happening, notification }: { readonly happening: Happening; readonly notification: Pick<NotificationRow, 'name'> },
): Promise<Notice> {
  const build = await toFullBuild(app, row)
  const { type } = happening
  const step = type === 'build.failed' ? firstFailed(build.steps ?? []) : build.steps?.find(({ name }) => name === happening.step)
  const waitingSince = build.approvals?.find((one) => one.step === happening.step)?.waitingSince
  const url = buildUrl(app, row.id)
  return {
    type,
    at: (type === 'build.waiting' ? waitingSince : build.finishedAt) ?? app.clock.now(),
    notification: notification.name,
    title: `Build ${build.number}${build.pipeline === undefined ? '' : ` of ${oneLine(build.pipeline, MAX_NAME)}`} ${ENDINGS[type]}`,
    about: aboutOf(build),
    details: detailsOf(build, happening, step),
    url,
    build: { ...shownBuild(build), url },
    ...(step !== undefined && { step: shownStep(step) }),
  }
}

/** Returns the notice of a test, which is about no build. */
export function testNotice(app: App, { name }: Pick<NotificationRow, 'name'>): Notice {
  return {
    type: 'test',
    at: app.clock.now(),
    notification: name,
    title: `Test of the notification "${name}"`,
    about: 'Windlass',
    details: ['This message shows that the notification works. It is about no build.'],
    url: app.advertisedUrl(),
  }
}

/** Returns the step that failed first. A group fails together with the step in it that is the cause. */
export function firstFailed(steps: readonly BuildStep[]): BuildStep | undefined {
  const failed = steps.filter(({ status }) => status === 'error')
  const isGroup = ({ name }: BuildStep): number => (failed.some(({ parent }) => parent === name) ? 1 : 0)
  const endOf = ({ finishedAt }: BuildStep): number => finishedAt ?? Number.MAX_SAFE_INTEGER
  return failed.toSorted((a, b) => endOf(a) - endOf(b) || isGroup(a) - isGroup(b))[0]
}

function aboutOf({ branch, revision, initiator }: Build): string {
  const facts = [
    branch === undefined ? undefined : `branch ${oneLine(branch, MAX_NAME)}`,
    revision === undefined ? undefined : `commit ${oneLine(revision, MAX_NAME).slice(0, 12)}`,
    `started by ${oneLine(initiator, MAX_NAME)}`,
  ]
  return facts.filter((fact) => fact !== undefined).join(' · ')
}

function detailsOf(build: Build, { type, step: waiting }: Happening, step: BuildStep | undefined): string[] {
  if (type === 'build.waiting')
    return [
      waiting === START ? whyOf(build) : `Step "${oneLine(waiting ?? '', MAX_NAME)}" waits for an approval.`,
      `Decide with: windlass approve ${build.id} or windlass deny ${build.id}`,
    ]
  if (type !== 'build.failed' && type !== 'build.terminated') return []
  const lines =
    step === undefined
      ? [whyOf(build), build.hint]
      : [
          `Step "${oneLine(step.name, MAX_NAME)}" failed: ${whyOf(step)}`,
          // `step-failed` says no more than the step.
          build.reason === 'step-failed' ? undefined : whyOf(build),
          step.hint,
        ]
  return [...new Set(lines.map((line = '') => oneLine(line, MAX_DETAIL)).filter((line) => line !== ''))]
}

function whyOf({ message, reason }: Pick<Build | BuildStep, 'message' | 'reason'>): string {
  return message ?? (reason === undefined ? '' : REASONS[reason].text)
}

function shownBuild(build: Build): Omit<NonNullable<Notice['build']>, 'url'> {
  const { id, number, status, initiator, trigger, createdAt } = build
  return {
    id,
    number,
    status,
    initiator: oneLine(initiator, MAX_NAME),
    trigger: { kind: trigger.kind, ...present({ name: trigger.name }) },
    createdAt,
    ...present({
      reason: build.reason,
      message: build.message === undefined ? undefined : oneLine(build.message, MAX_DETAIL),
      pipeline: build.pipeline,
      project: build.project,
      branch: build.branch === undefined ? undefined : oneLine(build.branch, MAX_NAME),
      revision: build.revision === undefined ? undefined : oneLine(build.revision, MAX_NAME),
      startedAt: build.startedAt,
      finishedAt: build.finishedAt,
    }),
  }
}

function shownStep(step: BuildStep): NonNullable<Notice['step']> {
  return {
    name: oneLine(step.name, MAX_NAME),
    title: oneLine(step.title, MAX_NAME),
    status: step.status,
    ...present({
      reason: step.reason,
      message: step.message === undefined ? undefined : oneLine(step.message, MAX_DETAIL),
      exitCode: step.exitCode,
    }),
  }
}
