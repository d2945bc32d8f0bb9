/** The terminals of a build: those of all persons, open and ended, and the one that is shown. */
import type { Build, DebugState, Session, TerminalRecord } from '@windlass/protocol'
import { ExternalLink } from 'lucide-react'
import type { ReactElement } from 'react'
import { formatHour } from '../looks/time.ts'
import { Empty } from '../parts/empty.tsx'
import { Tabs } from '../parts/tabs.tsx'
import { nameOf, whyNot } from '../server/session.ts'
import { paths } from '../url/paths.ts'
import { useParam } from '../url/search.ts'
import styles from './debug.module.css'
import { TerminalFrame } from './terminal-frame.tsx'

interface TerminalsProps {
  readonly build: Build
  readonly debug: DebugState
  readonly session: Session | undefined
}

export function Terminals({ build, debug: { terminals, held }, session }: TerminalsProps): ReactElement | null {
  const [wanted] = useParam('terminal')
  if (terminals.length === 0 && held.length === 0) return null
  const chosen = terminals.find(({ id }) => id === wanted) ?? findOpen(terminals, session)
  const forbidden = whyNot(session, 'debug-builds')
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
                label: labelOf(one),
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
            // Its end makes it a recording, but what was typed and seen last stays until it is opened again.
            <TerminalFrame key={chosen.id} place={{ build: build.id, terminal: chosen.id }} step={chosen.step} />
          )}
        </>
      )}
    </section>
  )
}

/** Returns the latest open terminal, first of the user. */
function findOpen(terminals: readonly TerminalRecord[], session: Session | undefined): TerminalRecord | undefined {
  const open = terminals.filter(({ endedAt }) => endedAt === undefined)
  return open.findLast(({ openedBy }) => session !== undefined && openedBy === nameOf(session)) ?? open.at(-1)
}

function labelOf({ step, openedBy, createdAt, endedAt }: TerminalRecord): string {
  return `${step} · ${openedBy} · ${formatHour(createdAt)}${endedAt === undefined ? '' : ' (ended)'}`
}
