/** The rules of each trigger in the order in which they are checked, with what was compared, also those behind the first that does not hold. */
import type { RuleResult, TriggerVerdict } from '@windlass/protocol'
import { Check, X } from 'lucide-react'
import type { ReactElement, ReactNode } from 'react'
import { Link } from 'wouter'
import layout from '../parts/layout.module.css'
import { paths } from '../url/paths.ts'
import styles from './deliveries.module.css'
import { RULE_WORDS } from './outcome.ts'

interface LadderProps {
  readonly verdict: TriggerVerdict
  /** What stands at the end of the heading, such as the build. */
  readonly children?: ReactNode
}

export function Ladder({ verdict, children }: LadderProps): ReactElement {
  const { pipeline, trigger, reason, message, rules, needsApproval } = verdict
  const end =
    reason !== undefined
      ? (message ?? reason)
      : needsApproval === true
        ? 'Builds after an approval.'
        : rules.length === 0
          ? 'Builds. Its rules were not kept.'
          : 'Builds: all rules hold.'
  return (
    <section className={styles['ladder']} aria-label={`Trigger ${trigger} of ${pipeline}`}>
      <header>
        <h3>
          <Link href={paths.pipeline(pipeline, 'triggers')}>
            <bdi>{pipeline}</bdi>
          </Link>{' '}
          <bdi>{trigger}</bdi>
        </h3>
        <p data-holds={reason === undefined}>
          <bdi>{end}</bdi>
        </p>
        {children}
      </header>
      <ol>
        {rules.map((rule) => (
          <Rung key={rule.rule} rule={rule} />
        ))}
      </ol>
    </section>
  )
}

function Rung({ rule }: { readonly rule: RuleResult }): ReactElement {
  const { holds, text, value, pattern, files = [] } = rule
  const Mark = holds ? Check : X
  return (
    <li className={styles['rung']} data-holds={holds} data-rule={rule.rule}>
      <Mark size={16} aria-hidden />
      <span className="unseen">{holds ? 'yes' : 'no'}</span>
      <b>{RULE_WORDS[rule.rule]}</b>
      <div>
        <p>
          <bdi>{text}</bdi>
        </p>
        {(value !== undefined || pattern !== undefined) && (
          <dl className={styles['sides']}>
            {value !== undefined && (
              <div>
                <dt>has</dt>
                <dd>
                  <bdi>{value === '' ? 'nothing' : value}</bdi>
                </dd>
              </div>
            )}
            {pattern !== undefined && (
              <div>
                <dt>wants</dt>
                <dd>
                  <bdi>{pattern}</bdi>
                </dd>
              </div>
            )}
          </dl>
        )}
        {files.length > 0 && (
          <ul className={styles['files']} aria-label="Changed files">
            {files.map(({ file, part }) => (
              <li key={file}>
                <bdi>{file}</bdi>{' '}
                <span>
                  {part === undefined ? (
                    'matches no part'
                  ) : (
                    <>
                      matches <bdi>{part}</bdi>
                    </>
                  )}
                </span>
              </li>
            ))}
          </ul>
        )}
      </div>
    </li>
  )
}

/** The ladders of several triggers, those that build first. */
export function Ladders({
  verdicts,
  endOf,
}: {
  readonly verdicts: readonly TriggerVerdict[]
  readonly endOf?: (verdict: TriggerVerdict) => ReactNode
}): ReactElement {
  const sorted = [
    ...verdicts.filter(({ reason }) => reason === undefined),
    ...verdicts.filter(({ reason }) => reason !== undefined),
  ]
  return (
    <div className={layout['stack']}>
      {sorted.map((verdict, index) => (
        <Ladder key={`${verdict.pipeline} ${verdict.trigger} ${index}`} verdict={verdict}>
          {endOf?.(verdict)}
        </Ladder>
      ))}
    </div>
  )
}
