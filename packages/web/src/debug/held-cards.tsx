/** Steps that the debugger holds, and what a person can do with them. */
import { useMutation } from '@tanstack/react-query'
import { isFault } from '@windlass/kit/faults'
import { DEBUG_TIMEOUT_MS, RIGHTS, type Build, type DebugAction, type DebugSettings, type DebugState } from '@windlass/protocol'
import type { ReactElement } from 'react'
import { useNow } from '../looks/clock.ts'
import { formatMoment, formatSpan } from '../looks/time.ts'
import { Button } from '../parts/button.tsx'
import { Command } from '../parts/copy.tsx'
import { Problem } from '../parts/problem.tsx'
import { sh } from '../parts/shell.ts'
import { client } from '../server/client.ts'
import { queryClient } from '../server/query-client.ts'
import { useOff } from '../shell/use-off.ts'
import { PHASES } from './breakpoints.ts'
import styles from './debug.module.css'
import { useOpenTerminal } from './open-terminal.ts'
import { debugQuery, useDebug } from './queries.ts'

type HeldStep = DebugState['held'][number]

/** The held steps of a build. Nothing for a build without one. */
export function HeldCards({ build }: { readonly build: Build }): ReactElement | null {
  const isHeld = (build.steps ?? []).some(({ status, reason }) => status === 'waiting' && reason === 'debugger')
  return isHeld ? <Cards build={build} /> : null
}

function Cards({ build }: { readonly build: Build }): ReactElement {
  const { data } = useDebug(build.id, false)
  return (
    <>
      {data?.held.map((held) => (
        <Card key={`${held.step} ${held.since}`} build={build} held={held} settings={data.settings} />
      ))}
    </>
  )
}

const ACTIONS = [
  ['continue', 'Continue'],
  ['retry', 'Retry'],
  ['fail', 'Fail'],
] as const satisfies readonly (readonly [DebugAction, string])[]

/** What was asked of the engine, until it has done it. */
const ASKED = {
  continue: 'The step continues.',
  retry: 'The step runs again.',
  fail: 'The step fails.',
  extend: 'The time limit starts again.',
} as const satisfies Record<DebugAction, string>

interface CardProps {
  readonly build: Build
  readonly held: HeldStep
  readonly settings: DebugSettings | undefined
}

function Card({ build, held: { step, phase, since }, settings }: CardProps): ReactElement {
  const now = useNow()
  const off = useOff('debug-builds')
  const open = useOpenTerminal(build)
  const act = useMutation({
    mutationFn: (action: DebugAction) => client.debug.act(build.id, step, action),
    onSettled: () => void queryClient.invalidateQueries({ queryKey: debugQuery(build.id).queryKey }),
  })
  const where = PHASES.find(([name]) => name === phase)?.[2] ?? ''
  // Another person was faster: the card goes away with the hold.
  const isLate = isFault(act.error) && act.error.code === 'not-held'
  const limit = settings?.timeoutMs
  return (
    <section className={styles['held']} aria-label={`Held step ${step}`}>
      <h2>
        Held: <bdi>{step}</bdi>, {where}, since {formatMoment(since, now)}, for {formatSpan(now - since)}.
      </h2>
      <p className="quiet">
        {sayLimit(settings)} The role {RIGHTS['debug-builds'].role} is enough to act on it.
      </p>
      <div className={styles['buttons']}>
        <Button tone="primary" off={off} isBusy={open.isBusy} onClick={() => open.run(step)}>
          Open a terminal
        </Button>
        {ACTIONS.map(([action, label]) => (
          <Button
            key={action}
            tone={action === 'fail' ? 'danger' : 'plain'}
            off={off}
            isBusy={act.isPending && act.variables === action}
            onClick={() => act.mutate(action)}
          >
            {label}
          </Button>
        ))}
        <Button tone="quiet" off={off} isBusy={act.isPending && act.variables === 'extend'} onClick={() => act.mutate('extend')}>
          {limit === undefined || limit === DEBUG_TIMEOUT_MS ? '15 minutes' : formatSpan(limit)} more
        </Button>
        <span role="status">{act.isSuccess ? ASKED[act.variables] : ''}</span>
      </div>
      {act.error !== null && !isLate && <Problem error={act.error} />}
      {open.error !== null && <Problem error={open.error} />}
      <p>
        <code>exit</code> in a terminal lets the step continue. <kbd>Ctrl-P</kbd> <kbd>Ctrl-Q</kbd>, or <kbd>~</kbd>
        <kbd>.</kbd> at the start of a line, leaves the terminal and keeps the step held.
      </p>
      <Command text={sh`windlass debug ${build.id} ${step}`} />
    </section>
  )
}

function sayLimit(settings: DebugSettings | undefined): string {
  const end = settings?.onTimeout === 'continue' ? 'the step continues' : 'the build ends'
  return settings?.timeoutMs === undefined
    ? `Without a key press for 15 min, or as long as the runtime sets, ${end}.`
    : `Without a key press for ${formatSpan(settings.timeoutMs)} ${end}.`
}
