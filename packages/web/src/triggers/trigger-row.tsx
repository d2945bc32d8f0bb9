/** One trigger in the list: what starts it, its last delivery or build, its next times, and what can be done with it. */
import { ScheduleProblem } from '@windlass/plan/schedule'
import type { Delivery, PipelineCronTrigger } from '@windlass/protocol'
import { CalendarClock, Ellipsis, GitBranch, Hammer, Package } from 'lucide-react'
import { useState, type ReactElement } from 'react'
import { Link } from 'wouter'
import { describeDelivery } from '../deliveries/outcome.ts'
import { useNow } from '../looks/clock.ts'
import { IconButton } from '../parts/button.tsx'
import layout from '../parts/layout.module.css'
import { Menu } from '../parts/floating/menu.tsx'
import { toProblem } from '../parts/problem.tsx'
import { Question } from '../parts/forms/question.tsx'
import { sh } from '../parts/shell.ts'
import { When } from '../parts/when.tsx'
import { tell } from '../shell/toasts.tsx'
import { paths } from '../url/paths.ts'
import { useParam } from '../url/search.ts'
import { describeTrigger, lastDeliveryOf, showNextTimes, type AnyTrigger } from './describe-trigger.ts'
import { removeTrigger, setDisabled } from './store-trigger.ts'
import styles from './triggers.module.css'

const ICONS = { git: GitBranch, cron: CalendarClock, registry: Package, helm: Package, build: Hammer } as const

interface TriggerRowProps {
  readonly trigger: AnyTrigger
  /** The newest deliveries of the pipeline. */
  readonly deliveries: readonly Delivery[]
  /** Why nothing can be changed. */
  readonly off: string | undefined
}

export function TriggerRow({ trigger, deliveries, off }: TriggerRowProps): ReactElement {
  const { name, type, disabled, origin } = trigger
  const Icon = ICONS[type]
  return (
    <div role="listitem" className={styles['row']} aria-label={name}>
      <Icon size={16} aria-hidden />
      <div className={styles['main']}>
        <div className={styles['name']}>
          <bdi>{name}</bdi>
          {disabled && <span className={layout['tag']}>disabled</span>}
          {origin === 'document' && <span className={layout['tag']}>in the document</span>}
        </div>
        <p>
          <bdi>{describeTrigger(trigger)}</bdi>
        </p>
        {trigger.type === 'cron' ? (
          <CronFacts trigger={trigger} />
        ) : (
          <LastDelivery delivery={lastDeliveryOf(trigger, deliveries)} />
        )}
      </div>
      <RowActions trigger={trigger} off={off} />
    </div>
  )
}

function LastDelivery({ delivery }: { readonly delivery: Delivery | undefined }): ReactElement {
  if (delivery === undefined) return <p className={styles['last']}>No delivery was judged for it yet.</p>
  return (
    <p className={styles['last']}>
      Last delivery of {delivery.repo === undefined ? 'a build' : <bdi>{delivery.repo}</bdi>}{' '}
      <Link href={paths.deliveries(delivery.id)}>
        <When at={delivery.receivedAt} />
      </Link>
      : <bdi>{describeDelivery(delivery)}</bdi>
    </p>
  )
}

function CronFacts({ trigger }: { readonly trigger: PipelineCronTrigger }): ReactElement {
  const { disabled, firedAt, problem, expression, timezone } = trigger
  return (
    <>
      <p className={styles['last']}>
        {disabled ? 'It is disabled and has no next time.' : <NextTimes schedule={{ expression, timezone }} />}
      </p>
      {firedAt !== undefined && (
        <p className={styles['last']}>
          Last build <When at={firedAt} />
        </p>
      )}
      {problem !== undefined && (
        <p className={layout['warning']}>
          <bdi>{problem}</bdi>
        </p>
      )}
    </>
  )
}

/** How long the computed times are kept. Milliseconds. */
const MINUTE_MS = 60_000

/** The next three times in the zone of the schedule, or why there are none. */
export function NextTimes({
  schedule,
}: {
  readonly schedule: Pick<PipelineCronTrigger, 'expression' | 'timezone'>
}): ReactElement {
  const minute = Math.floor(useNow() / MINUTE_MS) * MINUTE_MS
  try {
    const times = showNextTimes(schedule, minute)
    if (times.length === 0) return <>It has no next time: its year has passed.</>
    return (
      <>
        Next: {times.join(' · ')} ({schedule.timezone})
      </>
    )
  } catch (error) {
    return (
      <span role="alert">{error instanceof ScheduleProblem ? error.message : `"${schedule.timezone}" is not a time zone.`}</span>
    )
  }
}

function RowActions({ trigger, off }: Omit<TriggerRowProps, 'deliveries'>): ReactElement {
  const [, setEdited] = useParam('edit')
  const [isAsking, setIsAsking] = useState(false)
  const isOfDocument =
    trigger.origin === 'document' ? 'It is written in the document of the pipeline. Change it there.' : undefined
  const no = off ?? isOfDocument
  const toggle = (): void => {
    setDisabled(trigger, !trigger.disabled).then(
      () => tell({ text: `${trigger.disabled ? 'Enabled' : 'Disabled'} ${trigger.name}.` }),
      (error: unknown) => tell({ text: toProblem(error).message, tone: 'bad' }),
    )
  }
  return (
    <div className={styles['actions']}>
      <Menu
        button={
          <IconButton label={`Actions of ${trigger.name}`}>
            <Ellipsis size={16} aria-hidden />
          </IconButton>
        }
        groups={[
          [
            { label: 'Edit', off: no, onChoose: () => setEdited(trigger.id) },
            { label: trigger.disabled ? 'Enable' : 'Disable', off: no, onChoose: toggle },
          ],
          [
            {
              label: 'Delete',
              tone: 'danger' as const,
              off: no,
              note: sh`windlass delete ${kindOf(trigger)} ${`${trigger.pipeline}#${trigger.name}`}`,
              onChoose: () => setIsAsking(true),
            },
          ],
        ]}
      />
      {isAsking && (
        <Question
          title={`Delete the trigger ${trigger.name}?`}
          verb="Delete the trigger"
          onDo={() => removeTrigger(trigger)}
          onClose={() => setIsAsking(false)}
        >
          <p>
            <bdi>{describeTrigger(trigger)}</bdi> starts no more builds of <bdi>{trigger.pipeline}</bdi>. Builds that it has
            started stay.
          </p>
        </Question>
      )}
    </div>
  )
}

function kindOf({ type }: AnyTrigger): string {
  return type === 'git' ? 'trigger' : type === 'cron' ? 'cron-trigger' : 'event-trigger'
}
