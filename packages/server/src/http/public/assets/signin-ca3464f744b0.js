/** Signs in with the code of a printed link (`/signin#code=…`) or with an API key, and signs out. */
const message = document.querySelector('#message')
const form = document.querySelector('#sign-in')
const key = document.querySelector('#key')
const acceptCode = document.querySelector('#accept-code')
const signOut = document.querySelector('#sign-out')

/** Returns the body of the response. Throws an error with the message of the server. */
async function call(method, path, body) {
  const headers = { 'x-windlass-request': '1', ...(body !== undefined && { 'content-type': 'application/json' }) }
  const answer = await fetch(path, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) })
  const text = await answer.text()
  const result = text === '' ? undefined : JSON.parse(text)
  if (answer.ok) return result
  const error = new Error(
    answer.status === 429 ? `${result.detail} Retry in ${answer.headers.get('retry-after')} s.` : result.detail,
  )
  throw Object.assign(error, { status: answer.status })
}

function showSession(session) {
  const until = new Date(session.expiresAt).toLocaleString()
  message.textContent = `Signed in with the key ${session.key.name} (${session.key.role}) until ${until} at the latest.`
  form.hidden = true
  acceptCode.hidden = true
  signOut.hidden = false
}

function showForm(text) {
  message.textContent = text
  form.hidden = false
  acceptCode.hidden = true
  signOut.hidden = true
  key.value = ''
  key.focus()
}

/** Asks before the code is used: another user may have sent the link, and the session would have the rights of that user's key. */
function offerCode(code, session) {
  const question = 'Sign in with this link? Continue only if you created it with the command "windlass auth link".'
  message.textContent =
    session === undefined
      ? question
      : `Signed in with the key ${session.key.name} (${session.key.role}). ${question} It ends the current session.`
  acceptCode.hidden = false
  signOut.hidden = session === undefined
  const accept = async () => {
    acceptCode.hidden = true
    try {
      if (session !== undefined) await endSession()
      showSession(await call('POST', '/v1/sessions', { code }))
    } catch (error) {
      showForm(error.message)
    }
  }
  acceptCode.addEventListener('click', accept, { once: true })
}

/** Ends the session of this browser. Does nothing if it has already ended. */
async function endSession() {
  try {
    await call('DELETE', '/v1/sessions/current')
  } catch (error) {
    if (error.status !== 401) throw error
  }
}

/** Returns the session of this browser; undefined if it is not signed in. */
async function currentSession() {
  try {
    return await call('GET', '/v1/sessions/current')
  } catch (error) {
    if (error.status !== 401) throw error
    return undefined
  }
}

async function start() {
  const code = new URLSearchParams(location.hash.slice(1)).get('code')
  // The code must not stay in the address or in the history.
  if (location.hash !== '') history.replaceState(null, '', location.pathname)
  try {
    const session = await currentSession()
    if (code !== null) offerCode(code, session)
    else if (session === undefined) showForm('Sign in to this server.')
    else showSession(session)
  } catch (error) {
    showForm(error.message)
  }
}

form.addEventListener('submit', async (event) => {
  event.preventDefault()
  try {
    showSession(await call('POST', '/v1/sessions', { key: key.value.trim() }))
  } catch (error) {
    showForm(error.message)
  }
})

signOut.addEventListener('click', async () => {
  try {
    await call('DELETE', '/v1/sessions/current')
    showForm('Signed out.')
  } catch (error) {
    showForm(error.message)
  }
})

await start()
