"""CircuitsVis's drawing code, put into a notebook once and found there by every attention figure.

CircuitsVis itself asks the network at each display and, offline, puts 1.3 MB into every figure. Here the first figure
that a kernel shows carries the code, deflated to 0.5 MB; the others are small and wait for it in a queue, so that the
order in which a reopened notebook draws its outputs does not matter. Running the carrying cell again carries it again.
What this leaves out: front ends that give each output a page of its own (Colab) show the later figures as text.
"""

from __future__ import annotations

import base64
import importlib.util
import zlib
from functools import cache
from pathlib import Path
from typing import Any

from utils.show.problem import ShowProblem

# Puts a figure in the queue, and draws at once where the code has come already. `document.currentScript` finds the
# figure that this script belongs to: the same figure may be on the page twice (two views of one notebook).
QUEUE_SCRIPT = (
    "(function(s){var box=s.parentNode.querySelector('.book-heads-box');"
    "(window.bookFigures=window.bookFigures||[]).push([box,%s]);"
    "if(window.bookDraw)window.bookDraw();})(document.currentScript);"
)

# Inflates the code, runs it once a page, and empties the queue. Each figure gets an id that is unique on the page,
# because CircuitsVis looks its element up by id. A figure that a front end has taken off the page for now is asked for
# again for ten minutes. Where the browser cannot inflate, the text form stays.
_BUNDLE_SCRIPT = """(function(){
if(window.bookDraw||window.bookLoading)return;
window.bookLoading=true;
var draw=function(){
 var queue=window.bookFigures||[],waiting=[],item;
 while((item=queue.shift())){
  var box=item[0];
  if(!document.body.contains(box)){
   item[2]=(item[2]||0)+1;
   if(item[2]<600)waiting.push(item);
   continue;
  }
  window.bookCount=(window.bookCount||0)+1;
  box.id="book-live-"+window.bookCount;
  box.textContent="";
  window.CircuitsVis.render(box.id,window.CircuitsVis.AttentionHeads,item[1]);
  var text=box.closest("figure").querySelector("details");
  if(text)text.open=false;
 }
 window.bookFigures=waiting;
 if(waiting.length)setTimeout(draw,1000);
};
var fail=function(problem){
 window.bookLoading=false;
 console.error("The book's attention figures stay as text:",problem);
};
try{
 var packed=Uint8Array.from(atob("%s"),function(c){return c.charCodeAt(0);});
 var stream=new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
 new Response(stream).text().then(function(code){
  var script=document.createElement("script");
  code=code.replace("autoSkipPadding:3","autoSkipPadding:-4");  // else every second token goes unnamed from 20 on
  script.textContent=code+";window.CircuitsVis=CircuitsVis;";
  document.head.appendChild(script);
  window.bookDraw=draw;
  draw();
 }).catch(fail);
}catch(problem){fail(problem);}
})();"""


@cache
def script() -> str:
    """The `<script>` element with CircuitsVis's code in it, 0.5 MB, always the same for one release of CircuitsVis.

    Raises ShowProblem: CircuitsVis is not installed, or without its code.
    """
    spec = importlib.util.find_spec("circuitsvis")
    code = Path(spec.origin).parent / "dist" / "cdn" / "iife.js" if spec and spec.origin else None
    if code is None or not code.is_file():
        raise ShowProblem("Attention figures need the package circuitsvis with its drawing code: run `make env` again.")
    packed = base64.b64encode(zlib.compress(code.read_bytes(), 9)).decode("ascii")
    return f"<script>{_BUNDLE_SCRIPT % packed}</script>"


class Carrier:
    """Decides which outputs carry the code: a kernel's first figure, and that same cell whenever it is run again."""

    def __init__(self) -> None:
        self._cell: str | None = None
        self._run: str | None = None

    def carries(self, cell: str, run: str) -> bool:
        """Whether the output shown by this run of this cell is to carry the code.

        >>> carrier = Carrier()
        >>> carrier.carries("a", "1"), carrier.carries("a", "1"), carrier.carries("b", "2"), carrier.carries("a", "3")
        (True, False, False, True)
        """
        if self._cell is None or (cell == self._cell and run != self._run):
            self._cell, self._run = cell, run
            return True
        return False


_carrier = Carrier()


def script_if_needed() -> str:
    """The script where this output is the one to carry it, else nothing; nothing too where no notebook is."""
    request = _request()
    if request is None:
        return ""
    header, metadata = request.get("header", {}), request.get("metadata", {})
    cell = metadata.get("cellId") or request.get("content", {}).get("code", "")
    return script() if _carrier.carries(cell, header.get("msg_id", "")) else ""


def _request() -> dict[str, Any] | None:
    """The message that asked the kernel to run the present cell."""
    from IPython import get_ipython

    kernel = getattr(get_ipython(), "kernel", None)
    return None if kernel is None else kernel.get_parent("shell")
