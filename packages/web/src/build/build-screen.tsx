/** One build: its sentence, why it failed or what it waits for, its steps, and what else is known about it. */
import { useQuery } from '@tanstack/react-query'
import { isFinalBuild, stepToBlame } from '@windlass/plan'
import type { Build } from '@windlass/protocol'
import { Suspense, useEffect, type ReactElement } from 'react'
import { Link, useLocation, useParams } from 'wouter'
import { HeldCards } from '../debug/held-cards.tsx'
import { lookOfBuild, type Tone } from '../looks/states.ts'
import { Loading } from '../parts/loading.tsx'
import { Problem } from '../parts/problem.tsx'
import { StatusLine } from '../parts/forms/status-line.tsx'
import { Tabs } from '../parts/tabs.tsx'
import { queries } from '../server/queries.ts'
import { queryClient } from '../server/query-client.ts'
import { useLiveness } from '../server/stream.ts'
import { late } from '../shell/late.tsx'
import { Page, type Favicon } from '../shell/page.tsx'
import { useShortcuts } from '../shell/shortcuts.ts'
import { BUILD_TABS, paths, type BuildTab } from '../url/paths.ts'
import { Actions } from './actions.tsx'
import { ApprovalCards } from './approval/approval-card.tsx'
import styles from './build.module.css'
import { CompareTab } from './tabs/compare-tab.tsx'
import { DocumentTab } from './tabs/document-tab.tsx'
import { EventsTab } from './tabs/events-tab.tsx'
import { Facts } from './facts.tsx'
import { FailureCard } from './failure/failure-card.tsx'
import { GraphTab } from './tabs/graph-tab.tsx'
import { LogViewer } from '../log/late-viewer.ts'
import { LinkedSentence } from './linked-sentence.tsx'
import { sentenceOf } from './sentence.ts'
import { StepsTab } from './steps/steps-tab.tsx'
import { UsageTab } from './usage/usage-tab.tsx'
import { VariablesTab } from './tabs/variables-tab.tsx'

const DebugTab = late(async () => (await import('../debug/debug-tab.tsx')).DebugTab)

/** Tabs that have a screen. */
const TABS = {
  overview: 'Steps',
  graph: 'Graph',
  variables: 'Variables',
  usage: 'Usage',
  events: 'Events',
  document: 'Document',
  compare: 'Compare',
  debug: 'Debug',
} as const
type Shown = keyof typeof TABS

/** How often a build that has not ended is read again while the stream is closed. Milliseconds. */
const POLL_MS = 3_000

/** Reads what follows the id in the address: a tab, or `steps/NAME`. */
function readPlace(rest: string): { readonly tab: Shown; readonly step?: string } {
  const [first = '', ...others] = rest.split('/')
  if (first === 'steps' && others.length > 0) return { tab: 'overview', step: decode(others.join('/')) }
  return { tab: isShown(first) ? first : 'overview' }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

function isShown(name: string): name is Shown {
  return (BUILD_TABS as readonly string[]).includes(name) && Object.hasOwn(TABS, name)
}

const FAVICONS: Readonly<Record<Tone, Favicon>> = {
  ok: 'ok',
  bad: 'bad',
  run: 'run',
  wait: 'wait',
  stop: 'stop',
  idle: 'windlass',
}

export function BuildScreen(): ReactElement {
  const { id, '*': rest = '' } = useParams<{ id: string; '*'?: string }>()
  const place = readPlace(rest)
  const liveness = useLiveness()
  // The log of a step is next. Its parts are read together with the build, not one after the other.
  const mayShowLog = place.tab === 'overview'
  useEffect(() => {
    if (!mayShowLog) return
    LogViewer.preload()
    void queryClient.prefetchQuery(queries.logStreams(id))
  }, [id, mayShowLog])
  const {
    data: build,
    error,
    refetch,
  } = useQuery({
    ...queries.build(id),
    refetchInterval: ({ state }) =>
      liveness !== 'live' && state.data !== undefined && !isFinalBuild(state.data.status) ? POLL_MS : false,
  })
  if (build === undefined)
    return (
      <Page title="Build">
        {error === null ? <Loading rows={8} what="the build" /> : <Problem error={error} onRetry={() => void refetch()} />}
      </Page>
    )
  // What is typed and asked about one build is not carried over to another one.
  return <Loaded key={build.id} build={build} place={place} />
}

function Loaded({ build, place }: { readonly build: Build; readonly place: ReturnType<typeof readPlace> }): ReactElement {
  const [, go] = useLocation()
  const look = lookOfBuild(build)
  const names = Object.keys(TABS) as Shown[]
  const steps = build.steps ?? []
  const blamed = build.status === 'error' ? stepToBlame(build) : undefined
  // The cause of the failure comes first, before the steps around it that failed with it.
  const failed = steps.filter(({ status }) => status === 'error').toSorted((a, b) => Number(b === blamed) - Number(a === blamed))
  const nextFailed = (): void => {
    const at = failed.findIndex(({ name }) => name === place.step)
    const next = failed[(at + 1) % failed.length]
    if (next !== undefined) go(paths.step(build.id, next.name))
  }
  useShortcuts('Build', [
    ...names.map((name, index) => ({
      keys: String(index + 1),
      does: `Show ${TABS[name].toLowerCase()}`,
      run: () => go(paths.build(build.id, name as BuildTab)),
    })),
    { keys: 'e', does: 'Next failed step', run: nextFailed },
    { keys: 'c', does: 'Compare with the last successful build', run: () => go(paths.build(build.id, 'compare')) },
  ])
  const title = `#${build.number} ${build.pipeline ?? build.file ?? ''}`.trim()
  return (
    <Page
      title={`${look.word}: ${title}`}
      favicon={FAVICONS[look.tone]}
      heading={
        <>
          <PipelineName build={build} /> <span className="quiet">#{build.number}</span>
        </>
      }
      actions={<Actions build={build} step={place.step ?? blamed?.name} />}
    >
      <Facts build={build} />
      <StatusLine look={look}>
        <LinkedSentence build={build} text={sentenceOf(build)} />
      </StatusLine>
      {/* An approval has a card with its buttons. */}
      {!isFinalBuild(build.status) && build.status !== 'pending-approval' && build.hint !== undefined && (
        <p className="quiet">
          <bdi>{build.hint}</bdi>
        </p>
      )}
      {/* On the other tabs the sentence is enough: the card would hide what they show. */}
      {blamed !== undefined && place.tab === 'overview' && <FailureCard build={build} step={blamed} />}
      <ApprovalCards build={build} />
      <HeldCards build={build} />
      <Problems build={build} />
      <Tabs
        label="Parts of the build"
        tabs={names.map((name) => ({
          label: TABS[name],
          href: paths.build(build.id, name as BuildTab),
          isCurrent: name === place.tab,
        }))}
      />
      <Tab build={build} place={place} blamed={blamed?.name} />
    </Page>
  )
}

function PipelineName({ build: { pipeline: name, file = 'Build' } }: { readonly build: Build }): ReactElement {
  if (name === undefined) return <bdi>{file}</bdi>
  return (
    <Link href={paths.pipeline(name)} className={styles['pipeline'] ?? ''}>
      <bdi>{name}</bdi>
    </Link>
  )
}

function Tab({
  build,
  place,
  blamed,
}: {
  readonly build: Build
  readonly place: ReturnType<typeof readPlace>
  readonly blamed: string | undefined
}): ReactElement {
  switch (place.tab) {
    case 'graph':
      return <GraphTab build={build} />
    case 'variables':
      return <VariablesTab id={build.id} />
    case 'usage':
      return <UsageTab build={build} />
    case 'compare':
      return <CompareTab build={build} />
    case 'events':
      return <EventsTab build={build} />
    case 'document':
      return <DocumentTab build={build} />
    case 'debug':
      return (
        <Suspense fallback={<Loading what="the debugger" />}>
          <DebugTab build={build} />
        </Suspense>
      )
    default:
      return <StepsTab build={build} asked={place.step} blamed={blamed} />
  }
}

/** Errors of the document. */
function Problems({ build }: { readonly build: Build }): ReactElement | null {
  if (build.problems === undefined || build.problems.length === 0) return null
  return (
    <ul className={styles['problems']} aria-label="Problems of the document">
      {build.problems.map((problem, index) => (
        <li key={index} data-severity={problem.severity}>
          {problem.line !== undefined && <code>{`${problem.line}:${problem.column ?? 1}`}</code>} <bdi>{problem.message}</bdi>
          {problem.hint !== undefined && <p className="quiet">{problem.hint}</p>}
        </li>
      ))}
    </ul>
  )
}
