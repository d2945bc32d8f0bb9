/** Shows status and log of a build to the holder of a link (`/shared#build=…&link=…`), or those of a build of a public pipeline (`#build=…`). */
const message = document.querySelector('#message')
const steps = document.querySelector('#steps')
const log = document.querySelector('#log')
const download = document.querySelector('#download')

/** Time between two reads of a build that runs. Milliseconds. */
const INTERVAL_MS = 5_000
/** Bytes of log that the page keeps. */
const MAX_SHOWN = 2_000_000
const FINAL = ['success', 'error', 'terminated']

const given = new URLSearchParams(location.hash.slice(1))
const [id, link] = [given.get('build') ?? '', given.get('link')]
const headers = link === null ? {} : { 'x-windlass-link': link }
/** A character may be split between two reads. */
const decoder = new TextDecoder()
let shown = 0

async function read(path) {
  const answer = await fetch(`/v1/shared/builds/${encodeURIComponent(id)}${path}`, { headers })
  if (answer.ok) return answer
  throw new Error((await answer.json()).detail)
}

function describe({ number, pipeline, status, reason, branch, finishedAt, expiresAt }) {
  const of = pipeline === undefined ? '' : ` of ${pipeline}`
  const on = branch === undefined ? '' : ` on ${branch}`
  const ended = finishedAt === undefined ? '' : `, ended ${new Date(finishedAt).toLocaleString()}`
  const until = expiresAt === undefined ? '' : ` This link ends ${new Date(expiresAt).toLocaleString()}.`
  return `Build ${number}${of}${on}: ${status}${reason === undefined ? '' : ` (${reason})`}${ended}.${until}`
}

/** Adds the log from where the page has read so far. The text is never markup. */
async function readLog() {
  const text = await (await read(`/log?offset=${shown}`)).arrayBuffer()
  shown += text.byteLength
  log.textContent = (log.textContent + decoder.decode(text, { stream: true })).slice(-MAX_SHOWN)
}

async function refresh() {
  const build = await (await read('')).json()
  message.textContent = describe(build)
  steps.replaceChildren(
    ...build.steps.map(({ title, status }) =>
      Object.assign(document.createElement('li'), { textContent: `${title}: ${status}` }),
    ),
  )
  await readLog()
  return FINAL.includes(build.status)
}

async function follow() {
  try {
    if (!(await refresh())) setTimeout(follow, INTERVAL_MS)
  } catch (error) {
    message.textContent = error.message
  }
}

download.addEventListener('click', async () => {
  const bytes = await (await read('/log')).blob()
  const url = URL.createObjectURL(bytes)
  Object.assign(document.createElement('a'), { href: url, download: `build-${id}.log` }).click()
  URL.revokeObjectURL(url)
})

await follow()
