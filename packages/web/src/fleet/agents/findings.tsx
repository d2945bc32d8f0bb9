/** What is wrong, with what to do about it. */
import type { HealthFinding } from '@windlass/protocol'
import type { ReactElement } from 'react'
import { useNow } from '../../looks/clock.ts'
import { lookOfHealth } from '../../looks/states.ts'
import { Status } from '../../looks/status.tsx'
import { formatSpan } from '../../looks/time.ts'
import { Command } from '../../parts/copy.tsx'
import { commandOf } from '../../parts/shell.ts'
import styles from '../fleet.module.css'

interface FindingsProps {
  readonly findings: readonly HealthFinding[]
  /** The sentence without findings. */
  readonly none: string
}

export function Findings({ findings, none }: FindingsProps): ReactElement {
  const now = useNow()
  if (findings.length === 0) return <p className="quiet">{none}</p>
  return (
    <ul className={styles['list']} aria-label="Findings">
      {findings.map(({ code, level, message, hint, since }) => {
        const command = commandOf(hint)
        return (
          <li key={code} className={styles['finding']}>
            <Status look={lookOfHealth(level)} />
            <div className={styles['main']}>
              <p>
                <bdi>{message}</bdi>
                {since !== undefined && <span className="quiet"> Since {formatSpan(now - since)}.</span>}
              </p>
              <p className="quiet">{command === undefined ? hint : hint.replaceAll('`', '')}</p>
              {command !== undefined && <Command text={command} />}
            </div>
          </li>
        )
      })}
    </ul>
  )
}
