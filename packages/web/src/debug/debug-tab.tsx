/** The debugger of a build: its terminals, and its breakpoints. */
import { isFinalBuild } from '@windlass/plan'
import type { Build, DebugState, Session } from '@windlass/protocol'
import { useEffect, useRef, type ReactElement } from 'react'
import { Loading } from '../parts/loading.tsx'
import { Problem } from '../parts/problem.tsx'
import { nameOf, useSession } from '../server/session.ts'
import { useHidden } from '../shell/use-off.ts'
import { useParam } from '../url/search.ts'
import { Breakpoints } from './breakpoint-table.tsx'
import styles from './debug.module.css'
import { useOpenTerminal } from './open-terminal.ts'
import { useDebug } from './queries.ts'
import { Terminals } from './terminals.tsx'

export function DebugTab({ build }: { readonly build: Build }): ReactElement {
  const isFinal = isFinalBuild(build.status)
  const { data, error, isPending, refetch } = useDebug(build.id, isFinal)
  const state = useSession()
  const session = state.kind === 'in' || state.kind === 'ended' ? state.session : undefined
  const forbidden = useHidden('debug-builds')
  if (isPending) return <Loading what="the debugger" />
  if (data === undefined) return <Problem error={error} onRetry={() => void refetch()} />
  return (
    <div className={styles['tab']}>
      <Awaited build={build} debug={data} session={session} forbidden={forbidden} />
      <Terminals build={build} debug={data} session={session} forbidden={forbidden} />
      <Breakpoints key={String(isFinal)} build={build} settings={data.settings} />
    </div>
  )
}

interface AwaitedProps {
  readonly build: Build
  readonly debug: DebugState
  readonly session: Session | undefined
  /** Why the reader may open no terminal. */
  readonly forbidden: string | undefined
}

/** Opens a terminal in the step of the parameter `stop` as soon as it is held. */
function Awaited({ build, debug, session, forbidden }: AwaitedProps): ReactElement | null {
  const [step] = useParam('stop')
  const { run, error } = useOpenTerminal(build)
  const isAsked = useRef(false)
  const isHeld = debug.held.some((held) => held.step === step)
  const isMine = (by: string): boolean => session !== undefined && nameOf(session) === by
  const isOpen = debug.terminals.some((one) => one.step === step && one.endedAt === undefined && isMine(one.openedBy))
  const mayOpen = forbidden === undefined
  useEffect(() => {
    if (step === undefined || !isHeld || isOpen || !mayOpen || isAsked.current) return
    isAsked.current = true
    run(step)
  }, [step, isHeld, isOpen, mayOpen, run])
  if (step === undefined || isOpen || !mayOpen) return null
  if (error !== null) return <Problem error={error} onRetry={() => run(step)} />
  const wasHeld = debug.terminals.some((one) => one.step === step)
  if (isFinalBuild(build.status))
    return wasHeld ? null : (
      <p className={styles['awaited']} role="status">
        The build ended without a stop in <bdi>{step}</bdi>. A breakpoint on failure holds only a step that fails.
      </p>
    )
  return (
    <p className={styles['awaited']} role="status">
      {isHeld ? 'Opening a terminal in ' : 'A terminal opens here as soon as the debugger holds '}
      <bdi>{step}</bdi>.
    </p>
  )
}
