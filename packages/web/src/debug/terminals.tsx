/** The terminals of a build: those of all persons, open and ended, and the one that is shown. */
import type { Build, DebugState, Session, TerminalRecord } from '@windlass/protocol'
import { ExternalLink } from 'lucide-react'
import { useState, type ReactElement } from 'react'
import { useNow } from '../looks/clock.ts'
import { formatMoment } from '../looks/time.ts'
import { Empty } from '../parts/empty.tsx'
import { Tabs } from '../parts/tabs.tsx'
import { nameOf } from '../server/session.ts'
import { paths } from '../url/paths.ts'
import { useParam } from '../url/search.ts'
import styles from './debug.module.css'
import { TerminalFrame } from './terminal-frame.tsx'

interface TerminalsProps {
  readonly build: Build
  readonly debug: DebugState
  readonly session: Session | undefined
  /** Why the reader may see no terminal. */
  readonly forbidden: string | undefined
}

export function Terminals({ build, debug: { terminals, held }, session, forbidden }: TerminalsProps): ReactElement | null {
  const [wanted] = useParam('terminal')
  const [shown, setShown] = useState<string>()
  const now = useNow()
  // A terminal that was open stays when it ends, with what was typed and seen last.
  const chosen = find(terminals, wanted) ?? findOpen(terminals, session) ?? find(terminals, shown)
  if (chosen !== undefined && chosen.id !== shown) setShown(chosen.id)
  if (terminals.length === 0 && held.length === 0) return null
  return (
    <section className={styles['terminals']} aria-label="Terminals">
      <h2>Terminals</h2>
      {terminals.length === 0 && <Empty>No terminal is open yet. Open one in the held step above.</Empty>}
      {terminals.length > 0 && forbidden !== undefined && <Empty>{forbidden}</Empty>}
      {terminals.length > 0 && forbidden === undefined && (
        <>
          <div className={styles['choice']}>
            <Tabs
              label="Terminals of the build"
              tabs={terminals.map((one) => ({
                label: labelOf(one, now),
                href: paths.debug(build.id, { terminal: one.id }),
                isCurrent: one.id === chosen?.id,
              }))}
            />
            {chosen !== undefined && (
              <a href={paths.terminal(build.id, chosen.id)} target="_blank" rel="noreferrer">
                Alone in a tab <ExternalLink size={14} aria-hidden />
              </a>
            )}
          </div>
          {chosen === undefined ? (
            <Empty>All terminals have ended. Choose one to see its recording.</Empty>
          ) : (
            <TerminalFrame key={chosen.id} place={{ build: build.id, terminal: chosen.id }} step={chosen.step} />
          )}
        </>
      )}
    </section>
  )
}

function find(terminals: readonly TerminalRecord[], wanted: string | undefined): TerminalRecord | undefined {
  return terminals.find(({ id }) => id === wanted)
}

/** Returns the latest open terminal, first of the user. */
function findOpen(terminals: readonly TerminalRecord[], session: Session | undefined): TerminalRecord | undefined {
  const open = terminals.filter(({ endedAt }) => endedAt === undefined)
  return open.findLast(({ openedBy }) => session !== undefined && openedBy === nameOf(session)) ?? open.at(-1)
}

function labelOf({ step, openedBy, createdAt, endedAt }: TerminalRecord, now: number): string {
  return `${step} · ${openedBy} · ${formatMoment(createdAt, now)}${endedAt === undefined ? '' : ' (ended)'}`
}
