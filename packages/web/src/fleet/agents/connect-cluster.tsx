/** Connects a cluster: makes a key, shows the commands, and follows the installation. */
import { useMutation, useQuery } from '@tanstack/react-query'
import { DEMO_SCOPES, INSTALLER_SCOPES } from '@windlass/protocol'
import { useState, type ReactElement } from 'react'
import { now } from '../../looks/clock.ts'
import { Button } from '../../parts/button.tsx'
import { Command } from '../../parts/copy.tsx'
import { Dialog } from '../../parts/floating/dialog.tsx'
import { Field } from '../../parts/forms/field.tsx'
import { Problem } from '../../parts/problem.tsx'
import { ShownOnce } from '../../parts/shown-once.tsx'
import { client } from '../../server/client.ts'
import { queries } from '../../server/queries.ts'
import { useOff } from '../../shell/use-off.ts'
import { agentName, connectCommands, isLoopback, KEY_FILE, nameProblem, type Way } from './connect-commands.ts'
import styles from '../fleet.module.css'
import { InstallationProgress } from './installation-progress.tsx'

interface ConnectProps {
  readonly isOpen: boolean
  readonly onClose: () => void
}

const WAYS: readonly { readonly way: Way; readonly label: string; readonly about: string }[] = [
  {
    way: 'wizard',
    label: 'Wizard',
    about: 'Asks a few questions, tests the cluster, installs, and runs a build. Needs a kubeconfig and Helm.',
  },
  { way: 'helm', label: 'Helm', about: 'The chart, for those who keep what is installed in their own files.' },
]
/** The wizard needs its key once. The hooks of the chart need theirs for each upgrade, so that key does not end. */
const WIZARD_KEY_MS = 24 * 3_600_000

export function ConnectCluster({ isOpen, onClose }: ConnectProps): ReactElement {
  return (
    <Dialog isOpen={isOpen} onClose={onClose} title="Connect a cluster" isWide actions={<Button onClick={onClose}>Close</Button>}>
      {isOpen && <Connect />}
    </Dialog>
  )
}

function Connect(): ReactElement {
  const [way, setWay] = useState<Way>('wizard')
  const [cluster, setCluster] = useState('')
  const [namespace, setNamespace] = useState('windlass')
  // A call whose answer was lost must be the same when it is tried again.
  const [openedAt, setOpenedAt] = useState(now)
  const { data: status } = useQuery(queries.status())
  const off = useOff('manage-runners')
  const url = status?.advertisedUrl ?? location.origin
  const make = useMutation({
    mutationFn: async () => ({ startedAt: now(), token: (await createKey(way, { cluster, at: openedAt })).token }),
  })
  const wrong = nameProblem(cluster) ?? nameProblem(namespace)
  if (make.data !== undefined)
    return (
      <Instructions
        commands={connectCommands(way, { url, cluster, namespace })}
        token={make.data.token}
        isLoopbackUrl={isLoopback(url)}
        since={make.data.startedAt}
        agent={agentName({ cluster, namespace })}
      />
    )
  return (
    <form
      className={styles['stack']}
      onSubmit={(event) => {
        event.preventDefault()
        if ((off ?? wrong) === undefined && !make.isPending) make.mutate()
      }}
    >
      <fieldset className={styles['ways']}>
        <legend>Install with</legend>
        {WAYS.map((one) => (
          <label key={one.way}>
            <input
              type="radio"
              name="way"
              checked={way === one.way}
              onChange={() => {
                setWay(one.way)
                setOpenedAt(now())
              }}
            />
            <span>
              {one.label}
              <small>{one.about}</small>
            </span>
          </label>
        ))}
      </fieldset>
      <Field
        label="Name of the cluster"
        placeholder="prod"
        maxLength={63}
        value={cluster}
        error={cluster === '' ? undefined : nameProblem(cluster)}
        hint="Agent and runtime are named after it."
        onChange={(event) => setCluster(event.target.value)}
      />
      <Field
        label="Namespace for builds"
        maxLength={63}
        value={namespace}
        error={nameProblem(namespace)}
        onChange={(event) => setNamespace(event.target.value)}
      />
      {isLoopback(url) && <Unreachable url={url} />}
      {make.error !== null && <Problem error={make.error} />}
      <div className={styles['buttons']}>
        <Button
          type="submit"
          tone="primary"
          off={off ?? (cluster === '' ? 'Name the cluster first.' : wrong)}
          isBusy={make.isPending}
        >
          Make a key and show the commands
        </Button>
      </div>
    </form>
  )
}

/** Makes a key that can do what an installer does, and nothing else. */
async function createKey(
  way: Way,
  { cluster, at }: { readonly cluster: string; readonly at: number },
): Promise<{ readonly token: string }> {
  return client.keys.create({
    name: `connect-${cluster}-${at.toString(36)}`,
    role: 'admin',
    scopes: [...INSTALLER_SCOPES, ...(way === 'wizard' ? DEMO_SCOPES : [])],
    ...(way === 'wizard' && { expiresAt: at + WIZARD_KEY_MS }),
  })
}

interface InstructionsProps {
  readonly commands: readonly string[]
  readonly token: string
  readonly isLoopbackUrl: boolean
  /** Installations that started before are of others. Epoch milliseconds. */
  readonly since: number
  /** Name that the commands give to the agent. */
  readonly agent: string
}

function Instructions({ commands, token, isLoopbackUrl, since, agent }: InstructionsProps): ReactElement {
  return (
    <div className={styles['stack']}>
      <ShownOnce title="The key is shown only now." parts={[{ label: 'Key', text: token }]}>
        1. Store it in the file <code>{KEY_FILE}</code>. It can only install and connect clusters.
      </ShownOnce>
      <p>2. Run this where your kubeconfig reaches the cluster:</p>
      {commands.map((text) => (
        <Command key={text} text={text} />
      ))}
      {isLoopbackUrl && <Unreachable url={location.origin} />}
      <h3>Progress</h3>
      <InstallationProgress since={since} agent={agent} />
    </div>
  )
}

function Unreachable({ url }: { readonly url: string }): ReactElement {
  return (
    <div className={styles['note']}>
      <p>Pods of another machine cannot reach {url}. Start the server at an address that they reach:</p>
      <Command text="windlass up --detach --host 0.0.0.0 --advertise http://ADDRESS:7400" />
    </div>
  )
}
